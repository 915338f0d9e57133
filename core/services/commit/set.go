package commit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
)

// The files of a set of changes are staged, exchanged and verified one by one, with the checks of a
// single commit. The displaced files keep their temporary names until all are exchanged, so that an
// undo needs no space. The temporary names are the caller's, which writes them to a journal; the
// search for leftovers does not touch files with such names.

// Suffixes of the temporary name of a staged change.
const (
	stagedPart   = ".part" // while the new bytes are written, on systems without unnamed files
	stagedSecond = ".old"  // of the displaced file, on systems without exchange of names
)

// Locks are the held locks of several directories. They are not safe for concurrent use.
type Locks struct {
	committer *Committer
	held      []lockedDirectory
	unlocks   []func()
}

// DirPath returns the absolute name of an open directory, with links resolved where the system
// knows it.
func DirPath(dir *os.File) string { return kernel{}.pathOf(dir, dir.Name()) }

// LockAll takes the lock of each directory ([Committer.Lock]), in the order of their names, so that
// two calls do not wait for each other. Duplicates are locked once. Errors are those of Lock.
func (c *Committer) LockAll(ctx context.Context, dirs []*os.File) (*Locks, error) {
	dirs = slices.Clone(dirs)
	slices.SortStableFunc(dirs, func(a, b *os.File) int { return cmp.Compare(DirPath(a), DirPath(b)) })
	l := &Locks{committer: c}
	for _, dir := range dirs {
		held, err := l.of(dir)
		if err == nil && held == nil {
			var locked lockedDirectory
			var unlock func()
			if locked, unlock, err = c.lock(ctx, dir); err == nil {
				l.held, l.unlocks = append(l.held, locked), append(l.unlocks, unlock)
			}
		}
		if err != nil {
			l.Unlock()
			return nil, lockFailure(dir.Name(), err)
		}
	}
	return l, nil
}

// of returns the lock of a directory, nil if it is not held.
func (l *Locks) of(dir *os.File) (*lockedDirectory, error) {
	id, err := identify(dir, dir.Name())
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(l.held, func(d lockedDirectory) bool { return d.id == id }); i >= 0 {
		return &l.held[i], nil
	}
	return nil, nil
}

// Flush makes the entries of the directories durable.
func (l *Locks) Flush() error {
	var errs []error
	for _, d := range l.held {
		errs = append(errs, l.committer.system.sync(d.file))
	}
	return errors.Join(errs...)
}

// Unlock releases the locks.
func (l *Locks) Unlock() {
	for _, unlock := range slices.Backward(l.unlocks) {
		unlock()
	}
	l.held, l.unlocks = nil, nil
}

// SetRequest is one change of a set.
type SetRequest struct {
	Request        // Base "" creates the target
	Remove  bool   // removes the target, as [Committer.Remove] does; Data is ignored
	Temp    string // base name in Dir for the new bytes, and then for the displaced file; not in use; required

	// From is the staged removal of the file that a new file replaces under another name: the new
	// file gets its mode, owner and extended attributes, and with Data nil its bytes. Nil: none.
	From *Staged
}

// Staged is one change of a set. It is used under its [Locks], by one goroutine at a time, and ends
// with one of Undo and Finish.
type Staged struct {
	*transaction
	remove    bool
	swapped   *swapped // of a file that is replaced
	watch     *watch   // of the displaced file; may be nil
	exchanged bool
	settled   bool // the temporary name is not that of the new bytes any more
}

// Stage verifies the target and writes the new bytes to the temporary file, flushed; the target is
// not changed. An error leaves no file. Errors are those of [Committer.Commit]; a file that would
// have to be rewritten in place is refused with file_write_failure or permission_denied.
func (l *Locks) Stage(ctx context.Context, r SetRequest) (*Staged, error) {
	s, err := l.staged(r)
	if err != nil {
		return nil, err
	}
	if err := s.stage(ctx, r.From); err != nil {
		s.closeFiles()
		return nil, s.refusal(err)
	}
	return s, nil
}

func (l *Locks) staged(r SetRequest) (*Staged, error) {
	if err := checkRequest(r.Request); err != nil {
		return nil, err
	}
	dir, err := l.of(r.Dir)
	if err == nil && dir == nil {
		err = fs.ErrInvalid
	}
	if err != nil {
		return nil, classify(r.Path, err)
	}
	t := l.committer.begin(r.Request, dir.file)
	t.temp, t.size = r.Temp, int64(len(r.Data))
	t.sum = sync.OnceValue(func() string { return sumOf(t.Data) })
	if r.Remove {
		t.sum = func() string { return r.Base }
	}
	return &Staged{transaction: t, remove: r.Remove}, nil
}

// refusal classifies an error. A file that no new file can replace is not rewritten in place.
func (s *Staged) refusal(err error) error {
	if o := asObstacle(err); o != nil {
		return fault.Wrap(o.code, op, fmt.Sprintf("%s %s, so it cannot be changed together with other files; nothing was written.", s.Path, o.what),
			"Change this file with a call of its own.", err)
	}
	return s.failure(err)
}

func (s *Staged) stage(ctx context.Context, from *Staged) (err error) {
	switch {
	case s.remove:
		s.target, err = s.checkRemovable(ctx)
		return err
	case s.Base == "":
		return s.stageNew(ctx, from)
	}
	if s.target, s.checked, err = s.check(ctx); err != nil {
		return err
	}
	if err := s.step(StepChecked); err != nil {
		return err
	}
	if o := s.obstacleOf(s.checked); o != nil {
		return o
	}
	_, err = s.writeTemp(ctx, s.target)
	return err
}

func (s *Staged) stageNew(ctx context.Context, from *Staged) error {
	if found, err := s.system.look(s.dir, s.Name); err == nil && found.mode.IsRegular() {
		return s.nameTaken()
	} else if err == nil {
		return s.notRegular(found.mode)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var like *os.File
	if from != nil {
		like = from.target
		if s.Data == nil {
			var err error
			if s.Data, err = readAll(ctx, like, from.base().size); err != nil {
				return err
			}
			s.size = int64(len(s.Data))
			if s.sum() != from.Base {
				return from.changed("was changed")
			}
		}
	}
	err := s.place(like, func(f *os.File, part string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if part != "" {
			return s.renameNew(part, s.temp)
		}
		return s.system.linkUnnamed(f, s.dir, s.temp)
	})
	if err == nil {
		if err = s.step(StepTempLinked); err != nil {
			s.discard(s.temp)
		}
	}
	return err
}

// Exchange puts the change in place, verifies the displaced file, and flushes the directory. After
// an error the target is as before, with the exceptions of [Committer.Commit], whose errors it
// returns.
func (s *Staged) Exchange(ctx context.Context) error {
	err := ctx.Err()
	switch {
	case err != nil:
	case s.remove:
		s.settled = true
		if s.watch, err = s.displace(ctx, s.temp); err == nil {
			err = s.system.sync(s.dir)
			s.exchanged = true
		}
	case s.Base == "":
		err = s.renameNew(s.temp, s.Name)
		if errors.Is(err, fs.ErrExist) {
			err = s.nameTaken()
		}
		if err == nil {
			s.settled = true
			err = s.settleCreation(ctx)
			s.exchanged = err == nil
		}
	default:
		err = s.exchange(ctx)
	}
	if err != nil {
		return s.refusal(err)
	}
	return nil
}

func (s *Staged) exchange(ctx context.Context) error {
	w, err := s.recheck(ctx)
	if err == nil {
		err = s.step(StepRechecked)
	}
	if err != nil {
		w.end()
		return err
	}
	displaced, err := s.swapNames(s.temp)
	if err != nil {
		w.end()
		if errors.Is(err, errors.ErrUnsupported) {
			return fault.Wrap(fault.FileWriteFailure, op, fmt.Sprintf("The file system of %s cannot change several files together; nothing was written.", s.Path),
				"Change the files one by one.", err)
		}
		return placing(s.swapFailure(err))
	}
	s.settled = true
	s.swapped = &swapped{transaction: s.transaction, swap: s.swapNames, displaced: displaced}
	s.watch, err = s.swapped.verify(context.WithoutCancel(ctx), w)
	s.exchanged = err == nil
	return err
}

// swapNames exchanges the temporary file with the target; the displaced file has the temporary name.
func (s *Staged) swapNames(temp string) (string, error) {
	displaced, err := s.swapByExchange(temp)
	if !errors.Is(err, errors.ErrUnsupported) {
		return displaced, err
	}
	if displaced, err = s.swapByLink(temp); err != nil {
		return "", err
	}
	if err := s.system.rename(s.dir, displaced, s.temp); err != nil {
		return displaced, nil
	}
	return s.temp, nil
}

// secondName returns a free name for a second name of the target.
func (t *transaction) secondName() string {
	if t.temp != "" {
		return t.temp + stagedSecond
	}
	return t.tempName()
}

// Confirm verifies that no other program has changed the displaced file since it was verified.
func (s *Staged) Confirm(ctx context.Context) error {
	if s.watch == nil || s.watch.quiet(ctx) {
		return nil
	}
	s.watch.release()
	switch s.watch.judge(ctx, noWait) {
	case busy:
		return s.openElsewhere()
	case foreign:
		return s.changed("was changed")
	}
	return nil
}

// Undo restores the target, or removes the temporary file if the names were not exchanged. Bytes
// that another program wrote meanwhile stay at the path or are kept next to it; both are reported in
// KeptFiles. It does not stop if ctx ends.
func (s *Staged) Undo(ctx context.Context) (Outcome, error) {
	defer s.end()
	if !s.exchanged {
		if !s.settled {
			s.discard(s.temp)
		}
		return Outcome{KeptFiles: s.kept}, nil
	}
	ctx = context.WithoutCancel(ctx)
	var err error
	switch {
	case s.remove:
		err = s.restoreRemoved(ctx)
	case s.Base == "":
		err = s.withdraw(ctx, nil)
		if _, looking := s.system.look(s.dir, s.Name); err == nil && looking == nil {
			s.reportKept(s.Name)
		}
	default:
		err = s.swapped.undo(ctx, s.watch, nil)
	}
	if flushing := s.system.sync(s.dir); err == nil {
		err = flushing
	}
	if err != nil {
		err = s.failure(err)
	}
	return Outcome{KeptFiles: s.kept}, err
}

func (s *Staged) restoreRemoved(ctx context.Context) error {
	s.watch.release()
	err := s.renameNew(s.temp, s.Name)
	_ = s.step(StepUndone) // it fails already
	switch {
	case errors.Is(err, fs.ErrExist):
		s.keep(ctx, s.temp)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return s.notRestored("no longer exists", "", err)
	case err != nil:
		return s.notRestored("no longer exists", s.temp, err)
	}
	return nil
}

// Finish removes the displaced file and describes the new one. Bytes that another program has
// written to the displaced file are kept next to the target.
func (s *Staged) Finish(ctx context.Context) Outcome {
	defer s.end()
	ctx = context.WithoutCancel(ctx)
	out := Outcome{SHA256: s.sum()}
	switch {
	case s.remove:
		s.dropRemoved(ctx, s.temp, s.watch)
		s.watch, out.SHA256, out.Method = nil, "", MethodRename
	case s.Base == "":
		s.describeResult()
		out.Method = MethodCreate
	default:
		s.swapped.drop(ctx, s.watch)
		s.watch, out.Method = nil, MethodExchange
	}
	out.Info, out.KeptFiles = s.info, s.kept
	return out
}

// end closes the files.
func (s *Staged) end() {
	s.watch.end()
	s.watch = nil
	s.closeFiles()
}

package commit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// swapped is a commit whose new bytes are at the path, with the displaced file under a temporary
// name.
type swapped struct {
	*transaction
	swap      swapFunc
	displaced string
}

// noWait: until the verdict the new bytes are at the path. The longer they stay there, the likelier
// it is that the next save of the same program hits them and its two saves end up in different
// files. The wait for other programs comes before the swap.
const noWait = 0

// swapFunc puts the file called temp at the path, and returns the name of the displaced file.
type swapFunc func(temp string) (displaced string, err error)

// settle removes the displaced file if it has the base content and no other process can write to
// it; otherwise it undoes the swap.
//
// target watches the file that was at the path just before the swap.
func (s *swapped) settle(ctx context.Context, target *watch) error {
	w, err := s.verify(ctx, target)
	if err != nil {
		return err
	}
	s.drop(ctx, w)
	return nil
}

// drop removes the displaced file, which w watches; nil if it is gone.
func (s *swapped) drop(ctx context.Context, w *watch) {
	if w != nil {
		defer w.endWith(s.freeing.close)
		s.discard(s.displaced)
		_ = s.step(StepUnlinked) // nothing can be undone from here
		s.rescue(ctx, w)
	}
	s.describeResult()
}

// verify returns a watch on the displaced file if that has the base content and no other process can
// write to it, and nil if it is gone; otherwise it undoes the swap.
func (s *swapped) verify(ctx context.Context, target *watch) (verified *watch, err error) {
	failed := s.step(StepExchanged)
	exchanged := time.Now()
	w, found := s.identify(ctx, target)
	defer func() {
		if verified == nil {
			w.end()
		}
	}()
	if found == intact && failed == nil {
		s.unshield()
		failed = s.verified(ctx, w, exchanged)
	}
	if found == intact && !w.quiet(ctx) {
		w.release()
		found = w.judge(ctx, noWait)
	}
	switch {
	case failed != nil:
		return nil, s.undo(ctx, w, failed)
	case found == busy:
		return nil, s.undo(ctx, w, s.openElsewhere())
	case found == foreign:
		return nil, s.undo(ctx, w, s.changed("was changed"))
	case found == gone:
		// Another program removes files that are not its own. The displaced file cannot be verified
		// any more, and without the new bytes there would be no version at all.
		s.unshield()
		s.log.Warn("displaced file vanished before it was verified", "target", s.Path, "name", s.displaced)
		return nil, nil
	}
	return w, nil
}

// identify judges the displaced file. If it is the target under its lease, it is not read. It
// ends target unless it returns it.
func (s *swapped) identify(ctx context.Context, target *watch) (*watch, verdict) {
	w, judged := target, intact
	if found, err := s.system.look(s.dir, s.displaced); err != nil || found.ino == 0 || !found.is(w.info) {
		w.end()
		w, judged = s.examine(ctx, s.displaced, s.base(), noWait)
	} else if !w.quiet(ctx) {
		w.release()
		judged = w.judge(ctx, noWait)
	}
	if judged != intact {
		return w, judged
	}
	var err error
	if w.info, err = workspace.InfoOf(w.file); err != nil || w.info.Nlink > 1 {
		return w, foreign // a second name would not have the new bytes
	}
	return w, intact
}

// verified flushes the directory, and waits until Settle has passed since the exchange.
func (s *swapped) verified(ctx context.Context, displaced *watch, exchanged time.Time) error {
	if err := s.step(StepVerified); err != nil {
		return err
	}
	if err := s.followMode(displaced); err != nil {
		return err
	}
	if err := s.system.sync(s.dir); err != nil {
		return err
	}
	if err := s.step(StepSynced); err != nil {
		return err
	}
	return sleep(ctx, s.options.Settle-time.Since(exchanged))
}

// followMode applies to the new file a change of the old file's mode after its attributes were
// copied.
func (s *swapped) followMode(displaced *watch) error {
	if s.ours == nil {
		return nil
	}
	info, err := workspace.InfoOf(s.ours)
	if err != nil || info.Mode == displaced.info.Mode {
		return err
	}
	err = s.system.copyAttributes(s.ours, displaced.file)
	if asObstacle(err) != nil {
		return s.changed("was given to another owner")
	}
	return err
}

// undo moves the displaced file back to the path. It releases the watch of that file first, so that
// a process that waits to write to it continues. If the file at the path is the new file it is
// removed. If another process has put a newer file there, that stays, and the displaced file is
// kept next to it. undo returns cause, or an error that says that the new bytes stay at the path.
func (s *swapped) undo(ctx context.Context, displaced *watch, cause error) error {
	displaced.release()
	defer s.unshield()
	back, err := s.swapBack()
	if err != nil {
		return s.notUndone(ctx, cause, err)
	}
	if back == "" {
		return cause
	}
	ours := s.written()
	if s.shielded {
		ours = s.rewind(ctx)
		s.unshield()
	}
	_ = s.step(StepUndone) // it fails already
	w, verdict := s.examine(ctx, back, ours, s.options.LeaseWait)
	defer w.end()
	switch verdict {
	case intact:
		s.discard(back)
		s.rescue(ctx, w)
	case busy:
		// These are the new bytes, but another process is about to write to them.
		w.release()
		s.keep(ctx, back)
	case foreign:
		older, err := s.swap(back)
		if err != nil {
			older = back
		}
		s.keep(ctx, older)
	case gone:
	}
	return cause
}

// notUndone keeps the displaced file next to the target and reports the content of the path: either
// the file of another process, which is as good as an undo, or the new bytes.
func (s *swapped) notUndone(ctx context.Context, cause, undoing error) error {
	older := s.keep(ctx, s.displaced)
	ours, unknown := workspace.InfoOf(s.ours)
	found, err := s.system.look(s.dir, s.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.notRestored("no longer exists", older, errors.Join(cause, undoing))
	case unknown == nil && err == nil && !found.is(ours):
		return cause
	default:
		return s.notRestored("holds the new content", older, errors.Join(cause, undoing))
	}
}

// swapBack swaps the displaced file back to the path and returns the name of the file that was
// there, "" if none.
func (s *swapped) swapBack() (back string, err error) {
	const tries = 100 // each attempt fails only if another process creates or deletes the path in between
	for range tries {
		back, err = s.swap(s.displaced)
		if !errors.Is(err, fs.ErrNotExist) {
			return back, err
		}
		err = s.renameNew(s.displaced, s.Name)
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", err
}

// describeResult fills in the description of the new file. The bytes are in place even if it fails.
func (t *transaction) describeResult() {
	if t.ours == nil {
		var err error
		if t.ours, err = t.system.openRead(t.dir, t.Name); err != nil {
			t.log.Warn("new file could not be described", "target", t.Path, "error", err)
			return
		}
	}
	t.describe(t.ours)
}

func (t *transaction) describe(file *os.File) {
	var err error
	if t.info, err = workspace.InfoOf(file); err != nil {
		t.log.Warn("new file could not be described", "target", t.Path, "error", err)
	}
}

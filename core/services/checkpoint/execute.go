package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
)

// Report is what a restore has done.
type Report struct {
	Session string     `json:"session"`
	Turn    int        `json:"turn"` // under which it is recorded itself, and can be taken back
	What    string     `json:"what"`
	Steps   []FileStep `json:"restored"`
	Left    []Refusal  `json:"left,omitempty"`  // that were refused; see What.Partial
	Notes   []string   `json:"notes,omitempty"` // sentences for the person
}

// Note tells the model what has happened to files that it knows; "" where nothing
// has.
func (r *Report) Note() string {
	if r == nil || len(r.Steps) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The user has taken back %s. These files are others now than you left them; read them again before you change them:\n", r.What)
	const most = 50
	for i, s := range r.Steps {
		if i == most {
			fmt.Fprintf(&b, "- and %d more\n", len(r.Steps)-most)
			break
		}
		said := map[Action]string{ActionDelete: "deleted", ActionRecreate: "there again", ActionRestore: "changed back", ActionMode: "permissions changed back"}[s.Action]
		fmt.Fprintf(&b, "- %s (%s)\n", show(s.Path), said)
	}
	return b.String()
}

// Restore executes a plan. Each file is looked at again at the moment of its
// change: one that is not what the plan says any more is left, and ends the
// restore with code file_changed_since_read. What was there is kept first, so that
// a restore can be taken back as a turn of the session, and one that was killed
// can be made again. Errors are further those of [Plan.Err], of
// [commit.Committer.Commit], and of code checkpoint_failed and cancelled; with one
// that came in the middle the report says what is done.
func (r *Recorder) Restore(ctx context.Context, c *commit.Committer, p *Plan) (*Report, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	report := &Report{Session: r.o.Session, What: p.What, Left: p.Refused}
	if len(p.Steps) == 0 {
		return report, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t, err := r.beginRestore(ctx, p)
	if err != nil {
		return nil, failed("Nothing was restored, as what is there cannot be kept", err)
	}
	report.Turn = t.turn
	work := &restoring{Recorder: r, committer: c, report: report}
	err = work.run(ctx, p.Steps)
	changes, notes, lookErr := t.changes(context.WithoutCancel(ctx))
	if lookErr == nil {
		lookErr = r.end(t, KindRestore, changes, notes)
	}
	if lookErr == nil {
		lookErr = r.log.sync()
	}
	r.leave()
	if err == nil && lookErr != nil {
		report.Notes = append(report.Notes, "The restore itself could not be recorded: "+fault.Line(lookErr))
	}
	return report, err
}

// beginRestore keeps what the plan will change, if all of it is still so.
func (r *Recorder) beginRestore(ctx context.Context, p *Plan) (*Taken, error) {
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	t := &Taken{r: r}
	for _, s := range p.Steps {
		t.paths = append(t.paths, string(s.Path))
	}
	if err := r.lookBefore(ctx, t); err != nil {
		return nil, err
	}
	begin := line{Type: lineBegin, Kind: KindRestore, About: "takes back " + p.What}
	for i, s := range p.Steps {
		if now := t.before[i]; now != s.Now && (now.NotKept == "" || s.Now.NotKept == "") {
			return nil, fault.New(fault.FileChangedSinceRead, "checkpoint.restore",
				fmt.Sprintf("%s was changed since the plan was made; nothing was restored.", show(s.Path)), "Look at the plan again.").Because(fault.Changed)
		}
		if s.data != nil {
			if _, err := r.store.put(s.data, true); err != nil {
				return nil, err
			}
		}
		begin.Files = append(begin.Files, Change{s.Path, t.before[i], s.Then})
	}
	r.pending = &line{Type: lineTurn, Prompt: "restore of " + p.What, Time: r.store.o.Now()}
	err := r.begin(t, begin)
	if err != nil {
		r.pending = nil
	}
	return t, err
}

// restoring is a restore under way.
type restoring struct {
	*Recorder
	committer *commit.Committer
	report    *Report
}

// run does the steps: what has to go goes first, the deepest of it before what
// holds it; then what has to be there comes.
func (w *restoring) run(ctx context.Context, steps []FileStep) error {
	for _, s := range slices.Backward(steps) {
		if s.Then.Kind == s.Now.Kind || s.Now.Kind == Absent {
			continue
		}
		switch err := w.step(ctx, s, w.remove); {
		case errors.Is(err, errStays):
			w.report.Notes = append(w.report.Notes, staysText(s.Path))
			continue
		case err != nil:
			return err
		}
		if s.Then.Kind == Absent {
			w.report.Steps = append(w.report.Steps, s)
		}
	}
	for _, s := range steps {
		if s.Then.Kind == Absent {
			continue
		}
		if err := w.step(ctx, s, w.make); err != nil {
			return err
		}
		w.report.Steps = append(w.report.Steps, s)
	}
	for _, s := range slices.Backward(steps) { // what is in them could be made whatever they permit
		if s.Then.Kind != Folder {
			continue
		}
		if err := w.step(ctx, s, func(_ context.Context, s FileStep) error { return w.chmod(s.Path, s.Then) }); err != nil {
			return err
		}
	}
	slices.SortFunc(w.report.Steps, func(a, b FileStep) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return nil
}

func (w *restoring) step(ctx context.Context, s FileStep, do func(context.Context, FileStep) error) error {
	if ctx.Err() != nil {
		return cancelled(ctx, "The restore")
	}
	if err := do(ctx, s); errors.Is(err, errStays) {
		return err
	} else if err != nil {
		if e := fault.As(err); e != nil {
			return e
		}
		return fault.Wrap(fault.FileWriteFailure, "checkpoint.restore", fmt.Sprintf("%s cannot be restored: %s.", show(s.Path), cause(err)),
			"What was restored before it stays; call again when the cause is removed.", err)
	}
	return w.store.at(StepRestored)
}

func changedSince(path Name) error {
	return fault.New(fault.FileChangedSinceRead, "checkpoint.restore", fmt.Sprintf("%s was changed in this moment; it is left as it is.", show(path)),
		"What was restored before it stays; look at the plan again.").Because(fault.Changed)
}

// errStays says of a directory that it is not removed.
var errStays = errors.New("it holds something else")

func staysText(path Name) string {
	return "The directory " + show(path) + " stays, as it holds something else."
}

// remove takes away what is at a path; errStays: it is a directory that is not empty.
func (w *restoring) remove(ctx context.Context, s FileStep) error {
	switch s.Now.Kind {
	case File:
		return w.commit(ctx, s, func(r commit.Request) (commit.Outcome, error) { return w.committer.Remove(ctx, r) })
	case Link:
		return w.inFolder(s.Path, func(root *os.Root, name string) error {
			if err := isLink(root, name, s); err != nil {
				return err
			}
			return root.Remove(name)
		})
	case Folder:
		return w.inFolder(s.Path, func(root *os.Root, name string) error {
			info, err := root.Lstat(name)
			if err == nil && !info.IsDir() {
				return changedSince(s.Path)
			}
			if err != nil {
				return err
			}
			err = root.Remove(name)
			if err != nil && s.Then.Kind == Absent && holdsSomething(root, name) {
				return errStays
			}
			return err
		})
	case Absent, Other:
	}
	return nil
}

func holdsSomething(root *os.Root, name string) bool {
	f, err := root.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // nothing was written
	names, _ := f.Readdirnames(1)
	return len(names) > 0
}

// make puts at a path what belongs there.
func (w *restoring) make(ctx context.Context, s FileStep) error {
	switch s.Then.Kind {
	case Folder:
		return w.inFolder(s.Path, func(root *os.Root, name string) error {
			const usable = 0o700 // until all is in it; see run
			err := root.Mkdir(name, s.Then.Mode.Perm()|usable)
			if info, statErr := root.Lstat(name); errors.Is(err, fs.ErrExist) && statErr == nil && info.IsDir() {
				err = nil
				if info.Mode().Perm()&usable != usable {
					err = root.Chmod(name, info.Mode().Perm()|usable)
				}
			}
			return err
		})
	case Link:
		return w.inFolder(s.Path, func(root *os.Root, name string) error { return makeLink(root, name, s) })
	case File:
		return w.makeFile(ctx, s)
	case Absent, Other:
	}
	return nil
}

func isLink(root *os.Root, name string, s FileStep) error {
	target, err := root.Readlink(name)
	if err != nil || target != string(s.Now.Target) {
		return changedSince(s.Path)
	}
	return nil
}

// makeLink makes a link, or leads one elsewhere in one step.
func makeLink(root *os.Root, name string, s FileStep) error {
	if s.Now.Kind != Link {
		return root.Symlink(string(s.Then.Target), name)
	}
	temp := filepath.Join(filepath.Dir(name), ".fettle-link-"+sumOf([]byte(s.Path))[:16])
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.Symlink(string(s.Then.Target), temp); err != nil {
		return err
	}
	err := isLink(root, name, s)
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp) // else the next restore does
	}
	return err
}

// inFolder opens the workspace directory that holds a path, for what is done by name
// in it: nothing leads out of it.
func (w *restoring) inFolder(path Name, do func(root *os.Root, name string) error) error {
	p, err := w.o.Files.Resolve(string(path))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(p.Folder())
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written to it itself
	return do(root, filepath.FromSlash(p.Rel()))
}

// makeFile puts a file's content and permissions in place.
func (w *restoring) makeFile(ctx context.Context, s FileStep) error {
	if s.Action == ActionMode {
		return w.chmod(s.Path, s.Then)
	}
	data := s.data
	if data == nil {
		var err error
		if data, err = w.store.get(s.Then.SHA256); err != nil {
			return err
		}
	}
	const writable = 0o200
	if s.Now.Kind == File && s.Now.Mode&writable == 0 {
		now := s.Now
		now.Mode |= writable
		if err := w.chmod(s.Path, now); err != nil {
			return err
		}
	}
	err := w.commit(ctx, s, func(r commit.Request) (commit.Outcome, error) {
		r.Data = data
		return w.committer.Commit(ctx, r)
	})
	if err != nil {
		return err
	}
	return w.chmod(s.Path, s.Then)
}

// chmod gives a regular file or a directory its permissions.
func (w *restoring) chmod(path Name, as State) error {
	return w.inFolder(path, func(root *os.Root, name string) error {
		info, err := root.Lstat(name)
		switch {
		case err != nil:
			return err
		case info.IsDir() != (as.Kind == Folder) || !info.IsDir() && !info.Mode().IsRegular():
			return changedSince(path)
		case info.Mode()&modeBits == as.Mode:
			return nil
		}
		return root.Chmod(name, as.Mode)
	})
}

// commit hands a file to the committer, as what the step says that it is.
func (w *restoring) commit(_ context.Context, s FileStep, do func(commit.Request) (commit.Outcome, error)) error {
	p, err := w.o.Files.Resolve(string(s.Path))
	if err != nil {
		return err
	}
	undo := func() {}
	r := commit.Request{Path: string(s.Path)}
	if s.Now.Kind == File {
		r.Base, r.BaseSize = s.Now.SHA256, s.Now.Size
	} else if undo, err = w.o.Files.MakeParents(p); err != nil {
		return err
	}
	loc, err := w.o.Files.Locate(p)
	if err != nil {
		undo()
		return err
	}
	defer func() { _ = loc.Close() }() // nothing was written to it itself
	if loc.Name != p.Base() {          // a link has taken its place
		undo()
		return changedSince(s.Path)
	}
	r.Dir, r.Name = loc.Dir, loc.Name
	out, err := do(r)
	for _, kept := range out.Kept {
		w.report.Notes = append(w.report.Notes, "Bytes of another program were kept in "+show(Name(kept))+".")
	}
	if err != nil {
		undo()
	}
	return err
}

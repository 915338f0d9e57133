package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Report is the result of a restore.
type Report struct {
	Session  string     `json:"session"`
	Turn     int        `json:"turn"` // the turn that records the restore, and can be undone
	Selected string     `json:"what"`
	Steps    []FileStep `json:"restored"`
	Skipped  []Refusal  `json:"left,omitempty"`  // paths that were skipped; see Selection.Partial
	Notes    []string   `json:"notes,omitempty"` // sentences for the user
}

// Note describes the changed files for the model; "" if there are none.
func (r *Report) Note() string {
	if r == nil || len(r.Steps) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The user has undone %s. These files differ from the state in which you left them; read them again before you change them:\n", r.Selected)
	const most = 50
	for i, s := range r.Steps {
		if i == most {
			fmt.Fprintf(&b, "- and %d more\n", len(r.Steps)-most)
			break
		}
		done := map[Action]string{ActionDelete: "deleted", ActionRecreate: "there again", ActionRestore: "changed back", ActionMode: "permissions restored"}[s.Action]
		fmt.Fprintf(&b, "- %s (%s)\n", show(s.Path), done)
	}
	return b.String()
}

// Restore executes a plan. Each file is checked again just before its change. If it differs from
// the plan it is not changed, and the restore ends with code file_changed_since_read. The current
// state is saved first, so that a restore can be undone like a turn of the session, and an
// interrupted one can be repeated. Other errors are those of [Plan.Err], of
// [commit.Committer.Commit], and of code checkpoint_failed and cancelled. If an error occurs in the
// middle, the report contains the completed steps.
func (r *Recorder) Restore(ctx context.Context, c *commit.Committer, p *Plan) (*Report, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	report := &Report{Session: r.o.Session, Selected: p.Selected, Skipped: p.Refused}
	if len(p.Steps) == 0 {
		return report, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t, err := r.beginRestore(ctx, p)
	if err != nil {
		return nil, failed("Nothing was restored, because the current files cannot be saved", err)
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

// beginRestore saves the files that the plan will change, if none has changed since.
func (r *Recorder) beginRestore(ctx context.Context, p *Plan) (*ActiveCall, error) {
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	t := &ActiveCall{r: r}
	for _, s := range p.Steps {
		t.paths = append(t.paths, string(s.Path))
	}
	if err := r.scanBefore(ctx, t); err != nil {
		return nil, err
	}
	begin := line{Type: lineBegin, Kind: KindRestore, About: "undoes " + p.Selected}
	for i, s := range p.Steps {
		if now := t.before[i]; now != s.Now && (now.NotStored == "" || s.Now.NotStored == "") {
			return nil, fault.New(fault.FileChangedSinceRead, "checkpoint.restore",
				fmt.Sprintf("%s was changed since the plan was made; nothing was restored.", show(s.Path)), "Create the plan again.").Because(fault.Changed)
		}
		if s.data != nil {
			if _, err := r.store.put(s.data, true); err != nil {
				return nil, err
			}
		}
		begin.Files = append(begin.Files, Change{s.Path, t.before[i], s.Then})
	}
	r.pending = &line{Type: lineTurn, Prompt: "restore of " + p.Selected, Time: r.store.o.Now()}
	err := r.begin(t, begin)
	if err != nil {
		r.pending = nil
	}
	return t, err
}

// restoring is a restore in progress.
type restoring struct {
	*Recorder
	committer *commit.Committer
	report    *Report
}

// run executes the steps: removals first, deepest paths before their parents, and then the files
// and directories to create.
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
	for _, s := range slices.Backward(steps) { // a directory's content can be created regardless of its final mode
		if s.Then.Kind != Directory {
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
			"The steps completed before stay; call again when the cause is removed.", err)
	}
	return w.store.at(StepRestored)
}

func changedSince(path Name) error {
	return fault.New(fault.FileChangedSinceRead, "checkpoint.restore", fmt.Sprintf("%s was changed at the same moment; it was not restored.", show(path)),
		"The steps completed before stay; create the plan again.").Because(fault.Changed)
}

// errStays is the reason why a directory is not removed.
var errStays = errors.New("it contains other files")

func staysText(path Name) string {
	return "The directory " + show(path) + " stays, because it contains other files."
}

// remove removes the file at a path. It returns errStays for a directory that is not empty.
func (w *restoring) remove(ctx context.Context, s FileStep) error {
	switch s.Now.Kind {
	case File:
		return w.commit(ctx, s, func(r commit.Request) (commit.Outcome, error) { return w.committer.Remove(ctx, r) })
	case Link:
		return w.named(s.Path, func(p workspace.Path) error {
			if err := w.isLink(p, s); err != nil {
				return err
			}
			return w.o.Files.RemoveEntry(p)
		})
	case Directory:
		return w.named(s.Path, func(p workspace.Path) error {
			info, err := w.o.Files.Lstat(p)
			if err == nil && !info.Mode.IsDir() {
				return changedSince(s.Path)
			}
			if err != nil {
				return err
			}
			err = w.o.Files.RemoveEntry(p)
			if err != nil && s.Then.Kind == Absent {
				if more, listing := holds(w.o.Files, p, func(string) bool { return true }); listing == nil && more {
					return errStays
				}
			}
			return err
		})
	case Absent, Other:
	}
	return nil
}

// make creates the state of a path.
func (w *restoring) make(ctx context.Context, s FileStep) error {
	switch s.Then.Kind {
	case Directory:
		return w.named(s.Path, func(p workspace.Path) error {
			const writable = 0o700 // until it is complete; see run
			err := w.o.Files.MakeDir(p, s.Then.Mode.Perm()|writable)
			if info, looking := w.o.Files.Lstat(p); errors.Is(err, fs.ErrExist) && looking == nil && info.Mode.IsDir() {
				err = nil
				if info.Mode.Perm()&writable != writable {
					err = w.o.Files.Chmod(p, info.Mode&modeBits|writable)
				}
			}
			return err
		})
	case Link:
		return w.named(s.Path, func(p workspace.Path) error { return w.makeLink(p, s) })
	case File:
		return w.makeFile(ctx, s)
	case Absent, Other:
	}
	return nil
}

func (w *restoring) isLink(p workspace.Path, s FileStep) error {
	target, err := w.o.Files.Readlink(p)
	if err != nil || target != string(s.Now.Target) {
		return changedSince(s.Path)
	}
	return nil
}

// makeLink creates a link, or changes the target of one in a single step.
func (w *restoring) makeLink(p workspace.Path, s FileStep) error {
	if s.Now.Kind == Link {
		if err := w.isLink(p, s); err != nil {
			return err
		}
	}
	return w.o.Files.MakeLink(p, string(s.Then.Target), s.Now.Kind == Link)
}

// named calls do with a path of the workspace.
func (w *restoring) named(path Name, do func(p workspace.Path) error) error {
	p, err := w.o.Files.Resolve(string(path))
	if err != nil {
		return err
	}
	return do(p)
}

// makeFile restores a file's content and permissions.
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

// chmod sets the permissions of a regular file or a directory.
func (w *restoring) chmod(path Name, as State) error {
	return w.named(path, func(p workspace.Path) error {
		info, err := w.o.Files.Lstat(p)
		switch {
		case err != nil:
			return err
		case info.Mode.IsDir() != (as.Kind == Directory) || !info.Mode.IsDir() && !info.Mode.IsRegular():
			return changedSince(path)
		case info.Mode&modeBits == as.Mode:
			return nil
		}
		return w.o.Files.Chmod(p, as.Mode)
	})
}

// commit passes a file to the committer, in the state that the step expects.
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
	defer func() { _ = loc.Close() }() // nothing was written to it
	if loc.Name != p.Base() {          // a link has replaced it
		undo()
		return changedSince(s.Path)
	}
	r.Dir, r.Name, r.Layer = loc.Dir, loc.Name, loc.Layer
	out, err := do(r)
	for _, kept := range out.KeptFiles {
		w.report.Notes = append(w.report.Notes, "Bytes of another program were kept in "+show(Name(kept))+".")
	}
	if err != nil {
		undo()
	}
	return err
}

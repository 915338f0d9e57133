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
	Skipped  []Refusal  `json:"left,omitempty"`   // paths that were skipped; see Selection.Partial
	Failed   []Refusal  `json:"failed,omitempty"` // paths that could not be restored; Reason may be ""
	Notes    []string   `json:"notes,omitempty"`  // sentences for the user
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
// the plan it is not changed, and the error is of code file_changed_since_read. The names of one
// file (hard links) are changed together. The current state is saved first, so that a restore can be
// undone like a turn of the session, and an interrupted one can be repeated. Other errors are those
// of [Plan.Err], of [commit.Committer.Commit], and of code checkpoint_failed and cancelled. A path that
// fails does not stop the others: the report contains the completed steps and the failed paths, and
// the error has the code of the first failure.
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
	work := &restoring{Recorder: r, committer: c, report: report, failed: map[Name]FileStep{}, apart: map[Name]bool{}, lost: map[Name]bool{}}
	err = work.run(ctx, p.Steps)
	changes, notes, lookErr := t.changes(context.WithoutCancel(ctx))
	own, foreign := work.divide(changes)
	if lookErr == nil {
		lookErr = r.end(t, KindRestore, own, notes)
	}
	if lookErr == nil && len(foreign) > 0 {
		lookErr = r.between(foreign)
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
	failed    map[Name]FileStep
	errs      []error       // of the failed steps, in the order of report.Failed
	apart     map[Name]bool // names of a file that become files of their own
	lost      map[Name]bool // paths with nothing at them; see replace
	skipped   bool          // a step was not tried, because ctx had ended
}

// run executes the steps: removals first, deepest paths before their parents, and then the files
// and directories to create or change. A step that fails does not stop the others, except for an end
// of ctx.
func (w *restoring) run(ctx context.Context, steps []FileStep) error {
	w.findNames(steps)
	for _, s := range slices.Backward(steps) {
		if s.Then.Kind == Absent && w.try(ctx, s, w.remove) {
			w.report.Steps = append(w.report.Steps, s)
		}
	}
	for _, s := range steps {
		if s.Then.Kind != Absent && w.try(ctx, s, w.replace) {
			w.report.Steps = append(w.report.Steps, s)
		}
	}
	for _, s := range slices.Backward(steps) { // a directory's content can be created regardless of its final mode
		if s.Then.Kind == Directory && !w.hasFailed(s.Path) {
			w.try(ctx, s, func(_ context.Context, s FileStep) error { return w.chmod(s.Path, s.Then) })
		}
	}
	w.report.Steps = slices.DeleteFunc(w.report.Steps, func(s FileStep) bool { return w.hasFailed(s.Path) })
	slices.SortFunc(w.report.Steps, func(a, b FileStep) int { return strings.Compare(string(a.Path), string(b.Path)) })
	if w.skipped {
		return cancelled(ctx, "The restore")
	}
	return w.failure()
}

// try executes a step, and records its failure. It returns false for a step that was not executed.
func (w *restoring) try(ctx context.Context, s FileStep, do func(context.Context, FileStep) error) bool {
	if ctx.Err() != nil {
		w.skipped = true
		return false
	}
	err := w.step(ctx, s, do)
	switch {
	case err == nil:
		return true
	case errors.Is(err, errStays):
		w.report.Notes = append(w.report.Notes, staysText(s.Path))
	default:
		e := fault.As(err)
		w.report.Failed = append(w.report.Failed, Refusal{Path: s.Path, Reason: e.Reason, Detail: strings.TrimSuffix(e.Message, ".")})
		w.failed[s.Path], w.errs = s, append(w.errs, err)
	}
	return false
}

func (w *restoring) hasFailed(path Name) bool {
	_, failed := w.failed[path]
	return failed
}

// divide separates the changes of the restore from those that other programs have made at failed paths.
func (w *restoring) divide(changes []Change) (own, foreign []Change) {
	for _, c := range changes {
		s, failed := w.failed[c.Path]
		if failed && !w.lost[c.Path] && s.Then.content() != c.After.content() {
			foreign = append(foreign, c)
		} else {
			own = append(own, c)
		}
	}
	return own, foreign
}

// failure returns the failed steps as one error, nil without any.
func (w *restoring) failure() error {
	if len(w.errs) == 0 {
		return nil
	}
	var b strings.Builder
	for i, r := range w.report.Failed {
		const most = 10
		if i == most {
			fmt.Fprintf(&b, "; and %d more", len(w.report.Failed)-i)
			break
		}
		fmt.Fprintf(&b, "; %s: %s", show(r.Path), r.Detail)
	}
	first := fault.As(w.errs[0])
	return fault.Wrap(first.Code, "checkpoint.restore",
		fmt.Sprintf("Paths restored: %d. Not restored: %d: %s.", len(w.report.Steps), len(w.errs), strings.TrimPrefix(b.String(), "; ")),
		"Remove the cause and undo "+w.report.Selected+" again, which restores the rest.", errors.Join(w.errs...)).Because(first.Reason)
}

// findNames finds the names of one file for which a rewrite in place would change other names wrongly:
// names that get different contents, and those beside a name that is not in the plan. A command that has
// changed such a name would have it in the plan. Names with the same contents are restored together.
func (w *restoring) findNames(steps []FileStep) {
	type id struct{ dev, ino uint64 }
	names, links := map[id][]FileStep{}, map[id]uint64{}
	for _, s := range steps {
		if info, err := lstat(w.o.Files, string(s.Path)); s.Now.Kind == File && err == nil && info.Identified() {
			at := id{info.Dev, info.Ino}
			names[at], links[at] = append(names[at], s), info.Nlink
		}
	}
	for at, same := range names {
		beside := links[at] > uint64(len(same))
		same = slices.DeleteFunc(same, func(s FileStep) bool { return s.Then.Kind != File })
		differ := slices.ContainsFunc(same, func(s FileStep) bool { return s.Then != same[0].Then })
		for _, s := range same {
			w.apart[s.Path] = differ || beside && s.wide && s.Action != ActionMode
		}
	}
}

// linked reports whether a file has other names.
func (w *restoring) linked(path Name) bool {
	info, err := lstat(w.o.Files, string(path))
	return err == nil && info.Nlink > 1
}

// replace gives a path its earlier state. A file, link or directory of another type is removed first,
// and so is a name of a file whose other names get other contents. If the path then has nothing, it
// gets back what it had.
func (w *restoring) replace(ctx context.Context, s FileStep) error {
	now := s.Now
	if now.Kind == Absent || now.Kind == s.Then.Kind && !(w.apart[s.Path] && w.linked(s.Path)) {
		return w.make(ctx, s)
	}
	if err := w.remove(ctx, s); err != nil {
		return err
	}
	s.Now, s.Action = absent, ActionRecreate
	err := w.make(ctx, s)
	if err == nil {
		return nil
	}
	if _, looking := lstat(w.o.Files, string(s.Path)); looking == nil {
		return err // it exists, or another program has created it
	}
	back := FileStep{Path: s.Path, Now: absent, Then: now, Action: ActionRecreate}
	ctx = context.WithoutCancel(ctx)
	putting := w.make(ctx, back)
	if putting == nil && now.Kind == Directory {
		putting = w.chmod(s.Path, now)
	}
	if putting != nil {
		w.lost[s.Path] = true
		w.report.Notes = append(w.report.Notes, fmt.Sprintf("Nothing is at %s now: %s. Undo turn %d first to get its content back.", show(s.Path), cause(putting), w.report.Turn))
	}
	return err
}

func (w *restoring) step(ctx context.Context, s FileStep, do func(context.Context, FileStep) error) error {
	err := do(ctx, s)
	if err == nil {
		err = w.store.at(StepRestored)
	}
	if err == nil || errors.Is(err, errStays) {
		return err
	}
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.FileWriteFailure, "checkpoint.restore", fmt.Sprintf("%s cannot be restored: %s.", show(s.Path), cause(err)),
		"Call again when the cause is removed.", err)
}

func changedSince(path Name) error {
	return fault.New(fault.FileChangedSinceRead, "checkpoint.restore", fmt.Sprintf("%s was changed at the same moment; it was not restored.", show(path)),
		"Create the plan again.").Because(fault.Changed)
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

// makeFile restores a file's content and permissions. If another name of the file has been restored,
// the content is already there.
func (w *restoring) makeFile(ctx context.Context, s FileStep) error {
	if s.Action == ActionMode || s.Now.Kind == File && w.linked(s.Path) && w.holds(s) {
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

// holds reports whether a file has the content of the step.
func (w *restoring) holds(s FileStep) bool {
	defer w.look.closeDirectory()
	return w.look.fresh(string(s.Path), true, false).state.content() == s.Then.content()
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

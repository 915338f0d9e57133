package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Action is the effect of a restore on one path.
type Action string

// The actions.
const (
	ActionRestore  Action = "restore"  // it gets different content
	ActionDelete   Action = "delete"   // a call has created it
	ActionRecreate Action = "recreate" // a call has deleted it
	ActionMode     Action = "mode"     // only its permissions change
)

// FileStep is the effect of a restore on one path.
type FileStep struct {
	Path   Name   `json:"path"` // absolute
	Action Action `json:"action"`
	Now    State  `json:"now"`
	Then   State  `json:"then"`
	Diff   string `json:"diff,omitempty"` // unified, for text files; otherwise one line
	// Merged reports that later changes of the file are kept.
	Merged bool `json:"merged,omitempty"`

	data []byte // content of Then, if it is not stored yet
	wide bool   // only commands have made the changes, so that a scan has seen all names of the file
}

// Refusal is a path that cannot be restored without losing other changes.
type Refusal struct {
	Path   Name         `json:"path"`
	Reason fault.Reason `json:"reason"` // changed, later_work or not_kept
	Detail string       `json:"why"`    // the reason, as a clause

	remedy string // a sentence; "": there is none
}

// Plan is the effect of a restore.
type Plan struct {
	Session  string     `json:"session"`
	Selected string     `json:"what"` // such as "turn 2"
	Partial  bool       `json:"partial,omitempty"`
	Entries  []*Entry   `json:"entries"` // to undo
	Steps    []FileStep `json:"steps"`   // sorted by path
	Refused  []Refusal  `json:"refused,omitempty"`
	Done     []Name     `json:"done,omitempty"`     // paths that are in the earlier state already
	Warnings []string   `json:"warnings,omitempty"` // sentences
}

// Err returns the reason why the plan cannot be executed, with the changes that would be lost, or
// nil. It is of code restore_refused.
func (p *Plan) Err() error {
	if len(p.Refused) == 0 || p.Partial && len(p.Steps) > 0 {
		return nil
	}
	var b strings.Builder
	for i, r := range p.Refused {
		if i == 10 {
			fmt.Fprintf(&b, "; and %d more", len(p.Refused)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s: %s", show(r.Path), r.Detail)
	}
	var remedies []string
	for _, r := range p.Refused {
		if r.remedy != "" && !slices.Contains(remedies, r.remedy) && len(remedies) < 3 {
			remedies = append(remedies, r.remedy)
		}
	}
	if len(p.Steps) > 0 {
		remedies = append(remedies, "--partial restores only the rest.")
	}
	return fault.New(fault.RestoreRefused, "checkpoint.plan", fmt.Sprintf("Nothing was restored, because not all of %s can be undone: %s.", p.Selected, b.String()),
		strings.Join(remedies, " ")).Because(p.Refused[0].Reason)
}

// Plan returns the effect of undoing the selected entries on the current files; it changes none of
// them. Errors are of code checkpoint_not_found, checkpoint_failed and cancelled; refused paths are
// in Refused.
func (s *Store) Plan(ctx context.Context, files *workspace.Workspace, w Selection) (*Plan, error) {
	all, err := s.histories(ctx)
	if err != nil {
		return nil, err
	}
	h, err := pick(all, w.Session)
	if err != nil {
		return nil, err
	}
	entries, err := w.choose(h)
	if err != nil {
		return nil, err
	}
	p := &planning{
		Plan:   &Plan{Session: h.Session, Selected: w.name(), Partial: w.Partial, Entries: entries},
		store:  s,
		files:  files,
		picked: map[*Entry]bool{},
		look:   scanner{store: s, files: files, finder: func() *discovery.Finder { return nil }, tree: tree{}},
	}
	defer p.look.closeDirectory()
	paths := map[Name]bool{}
	for _, e := range entries {
		p.picked[e] = true
		p.warnOf(e)
		for _, c := range e.Files {
			paths[c.Path] = true
		}
	}
	of := chains(all)
	for path := range paths {
		if ctx.Err() != nil {
			return nil, cancelled(ctx, "Planning the restore")
		}
		if err := p.path(path, of[path]); err != nil {
			return nil, err
		}
	}
	p.sort()
	p.remainingDirectories()
	p.sort()
	return p.Plan, nil
}

// name returns the selection's name for users.
func (w Selection) name() string {
	switch {
	case w.Call != "":
		return "call " + escape.Clip(escape.Line(w.Call), maxPrompt)
	case w.Since:
		return fmt.Sprintf("turn %d and all later ones", w.Turn)
	}
	return fmt.Sprintf("turn %d", w.Turn)
}

// planning is a plan in progress.
type planning struct {
	*Plan
	store  *Store
	files  *workspace.Workspace
	picked map[*Entry]bool
	look   scanner
}

func (p *planning) warnOf(e *Entry) {
	switch {
	case e.Running:
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s %s has not ended yet, or its process was killed and no scan has followed: it is not undone.", e.ID(), e.Tool))
	case e.Interrupted:
		p.Warnings = append(p.Warnings, fmt.Sprintf("The process ended in the middle of %s %s: changes until the next scan of the files are attributed to it.", e.ID(), e.Tool))
	}
	if e.Background && e.Kind == KindCall && len(e.Files) > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("A process started by an earlier command was running during %s %s: its changes are attributed to this call.", e.ID(), e.Tool))
	}
	for _, note := range e.Notes {
		p.Warnings = append(p.Warnings, e.ID()+": "+note)
	}
}

func (p *planning) sort() {
	byPath := func(a, b Name) int { return strings.Compare(string(a), string(b)) }
	slices.SortFunc(p.Steps, func(a, b FileStep) int { return byPath(a.Path, b.Path) })
	slices.SortFunc(p.Refused, func(a, b Refusal) int { return byPath(a.Path, b.Path) })
	slices.SortFunc(p.Done, byPath)
}

// remainingDirectories drops the removal of directories that contain files which the plan does not
// remove. A directory that a call has created is removed only if it is otherwise empty, and one
// that replaced a file is not removed with its content.
func (p *planning) remainingDirectories() {
	goes := map[string]bool{}
	var stay []Name
	for i, s := range slices.Backward(p.Steps) { // the content of a directory before the directory
		if s.Now.Kind == Directory && s.Then.Kind != Directory && p.holdsMore(string(s.Path), goes) {
			p.Steps = slices.Delete(p.Steps, i, i+1)
			if s.Then.Kind == Absent {
				stay = append(stay, s.Path)
			} else {
				p.refuse(s.Path, fault.LaterWork, "it is a directory now and contains other files")
			}
			continue
		}
		goes[string(s.Path)] = s.Then.Kind == Absent
	}
	for _, path := range slices.Backward(stay) {
		p.Warnings = append(p.Warnings, staysText(path))
	}
}

// holdsMore reports whether a directory contains files that are not removed.
func (p *planning) holdsMore(path string, goes map[string]bool) bool {
	at, err := p.files.Resolve(path)
	if err != nil {
		return false // the restore reports the problem
	}
	more, err := holds(p.files, at, func(name string) bool { return !goes[filepath.Join(path, name)] })
	return err == nil && more
}

// holds reports whether a directory contains a name that is accepted.
func holds(files *workspace.Workspace, directory workspace.Path, accept func(name string) bool) (found bool, err error) {
	dir, err := files.OpenDir(directory)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	err = dir.Names(nil, func(n workspace.Name) bool {
		found = accept(n.Name)
		return !found
	})
	return found, err
}

func (p *planning) refuse(path Name, reason fault.Reason, why string) {
	p.Refused = append(p.Refused, Refusal{Path: path, Reason: reason, Detail: why})
}

// path plans the effect on one path.
func (p *planning) path(path Name, c chain) error {
	c, halves := p.withoutHalves(c)
	if len(c) == 0 {
		p.Done = append(p.Done, path)
		return nil
	}
	last := c[len(c)-1].after
	seen := p.look.fresh(string(path), last.NotStored == "", false)
	p.look.closeDirectory()
	now := seen.state
	if now.Kind == Other && strings.HasPrefix(now.NotStored, "it is outside of the workspace") {
		p.refuse(path, fault.NotKept, now.NotStored)
		return nil
	}
	from := now
	for _, half := range halves {
		if half.after.content() == now.content() {
			from = last
		}
	}
	inForce, ok := c.inForce(from)
	if !ok {
		p.Refused = append(p.Refused, Refusal{path, fault.Changed, "another process has changed it after the last recorded call" + p.by(c),
			"Save that edit elsewhere and return the file to the state after the call; or restore single calls that do not affect it."})
		return nil
	}
	then, err := p.without(path, inForce, value{state: from})
	if err != nil {
		var r *Refusal
		if errors.As(err, &r) {
			p.Refused = append(p.Refused, *r)
			return nil
		}
		return err
	}
	if then.state == now {
		p.Done = append(p.Done, path)
		return nil
	}
	step := FileStep{Path: path, Now: now, Then: then.state, Merged: then.merged, data: then.data, Action: actionOf(now, then.state), wide: c.byCommands(p.picked)}
	if step.Diff, err = p.diff(step); err != nil {
		p.refuse(path, fault.NotKept, short(err))
		return nil
	}
	p.Steps = append(p.Steps, step)
	return nil
}

// by returns the names of the owners of the last recorded change.
func (p *planning) by(c chain) string {
	for _, l := range slices.Backward(c) {
		for _, e := range l.owners {
			return ", " + e.called(p.Session)
		}
	}
	return ""
}

// called returns an entry's name for users.
func (e *Entry) called(session string) string {
	text := strings.TrimSpace(e.ID() + " " + e.Tool)
	if e.Kind == KindBetween {
		text = e.ID() + ", a change between calls"
	}
	if e.Session != session {
		text += " of the session " + e.Session
	}
	return text
}

func actionOf(now, then State) Action {
	switch {
	case then.Kind == Absent:
		return ActionDelete
	case now.Kind == Absent:
		return ActionRecreate
	case now.content() == then.content():
		return ActionMode
	}
	return ActionRestore
}

// Error makes a Refusal an error within the planning.
func (r *Refusal) Error() string { return show(r.Path) + ": " + r.Detail }

// value is a state with its content, if that is not stored.
type value struct {
	state  State
	data   []byte // nil: the store has it
	merged bool
}

// without returns the result of undoing the selected links, latest first, for the current value
// cur, for which the chain is in force.
func (p *planning) without(path Name, c chain, cur value) (value, error) {
	for j := len(c) - 1; j >= 0; j-- {
		switch c[j].of(p.picked) {
		case others:
			continue
		case both:
			return cur, p.concurrent(path, c[j])
		case chosen:
		}
		i := j
		for i > 0 && c[i-1].of(p.picked) == chosen {
			i--
		}
		var err error
		if cur, err = p.reverse(path, link{before: c[i].before, after: c[j].after}, c[j+1:], cur); err != nil {
			return cur, err
		}
		j = i
	}
	return cur, nil
}

// concurrent refuses to undo a change that a concurrent call may have made.
func (p *planning) concurrent(path Name, l link) error {
	r := &Refusal{Path: path, Reason: fault.LaterWork}
	for _, e := range l.owners {
		if p.picked[e] {
			continue
		}
		r.Detail = "another call was running at the same time and may have changed it: " + e.called(p.Session)
		switch {
		case e.Session != p.Session:
			r.remedy = "Concurrent changes by calls of two sessions cannot be undone for one of them: change the file manually."
		case len(p.Entries) > 0 && p.Entries[0].Turn != e.Turn:
			r.remedy = fmt.Sprintf("Undo both together: turn %d with --since.", min(e.Turn, p.Entries[0].Turn))
		default:
			r.remedy = fmt.Sprintf("Undo both together: turn %d.", e.Turn)
		}
		break
	}
	return r
}

// reverse undoes one link in cur; later are the links after it.
func (p *planning) reverse(path Name, l link, later chain, cur value) (value, error) {
	before, after := l.before, l.after
	if before.Mode != after.Mode && before.Kind == after.Kind && cur.state.Kind == before.Kind && cur.state.Mode == after.Mode {
		cur.state.Mode = before.Mode
	}
	now := cur.state.content()
	switch {
	case before.content() == after.content() || now == before.content():
		return cur, nil
	case before.Kind == Other || before.NotStored != "":
		return cur, &Refusal{Path: path, Reason: fault.NotKept, Detail: "its earlier content is not stored: " + orElse(before.NotStored, "it was not a regular file")}
	case now == after.content() && (after.Kind == Other || after.NotStored != ""):
		return cur, &Refusal{Path: path, Reason: fault.NotKept, Detail: "its current content is not stored, so that it could not be restored again: " + orElse(after.NotStored, "it is not a regular file")}
	case now == after.content():
		return value{state: before}, nil
	case before.Kind != File || after.SHA256 == "" || cur.state.Kind != File || cur.state.NotStored != "":
		return cur, p.laterWork(path, later, "it cannot be undone alone")
	}
	data, err := p.mergeOf(path, before, after, cur)
	switch {
	case errors.Is(err, errOverlap) || errors.Is(err, errNoText):
		return cur, p.laterWork(path, later, err.Error())
	case err != nil:
		return cur, &Refusal{Path: path, Reason: fault.NotKept, Detail: short(err)}
	}
	state := cur.state
	state.SHA256, state.Size = sumOf(data), int64(len(data))
	return value{state: state, data: data, merged: true}, nil
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// laterWork refuses to lose changes after a link.
func (p *planning) laterWork(path Name, later chain, why string) error {
	const nobodys = "somebody else"
	remedy := "Save the edit of the other process elsewhere and remove it from the file first."
	var by []string
	for _, l := range later {
		if l.of(p.picked) == chosen {
			continue
		}
		name := nobodys
		if len(l.owners) > 0 {
			name = l.owners[0].called(p.Session)
			remedy = "Undo " + name + " first." // the last one, in the end
		}
		if !slices.Contains(by, name) {
			by = append(by, name)
		}
	}
	if len(by) == 0 {
		by = append(by, nobodys)
	}
	return &Refusal{path, fault.LaterWork, fmt.Sprintf("later changes would be lost, of %s: %s", strings.Join(by, ", "), why), remedy}
}

func (p *planning) mergeOf(path Name, before, after State, cur value) ([]byte, error) {
	old, err := p.store.get(before.SHA256)
	if err != nil {
		return nil, err
	}
	base, err := p.store.get(after.SHA256)
	if err != nil {
		return nil, err
	}
	now := cur.data
	if now == nil {
		if now, err = p.store.get(cur.state.SHA256); err != nil {
			return nil, err
		}
	}
	return merge(path, old, base, now)
}

// withoutHalves splits off the steps of an interrupted restore; the next one begins at its start.
func (p *planning) withoutHalves(c chain) (rest, halves chain) {
	end := len(c)
	for end > 0 && len(c[end-1].owners) == 1 {
		e := c[end-1].owners[0]
		if e.Kind != KindRestore || !e.Interrupted || p.picked[e] {
			break
		}
		end--
	}
	return c[:end], c[end:]
}

// modeText returns permissions for display.
func modeText(m fs.FileMode) string { return fmt.Sprintf("%04o", uint32(m.Perm())) }

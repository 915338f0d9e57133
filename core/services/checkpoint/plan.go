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

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Action is what a restore does to one path.
type Action string

// The actions.
const (
	ActionRestore  Action = "restore"  // it gets other content
	ActionDelete   Action = "delete"   // a call has made it
	ActionRecreate Action = "recreate" // a call has deleted it
	ActionMode     Action = "mode"     // only its permissions change
)

// FileStep is what a restore does to one path.
type FileStep struct {
	Path   Name   `json:"path"` // absolute
	Action Action `json:"action"`
	Now    State  `json:"now"`
	Then   State  `json:"then"`
	Diff   string `json:"diff,omitempty"` // unified, of texts; else a line about it
	// Merged says that later work on the file is kept.
	Merged bool `json:"merged,omitempty"`

	data []byte // of Then, where it is not kept yet
}

// Refusal is a path that cannot be restored without losing something.
type Refusal struct {
	Path   Name         `json:"path"`
	Reason fault.Reason `json:"reason"` // changed, later_work or not_kept
	Why    string       `json:"why"`    // a clause

	remedy string // a sentence; "": there is none
}

// Plan is what a restore would do.
type Plan struct {
	Session  string     `json:"session"`
	What     string     `json:"what"` // as "turn 2"
	Partial  bool       `json:"partial,omitempty"`
	Entries  []*Entry   `json:"entries"` // that are taken back
	Steps    []FileStep `json:"steps"`   // sorted by path
	Refused  []Refusal  `json:"refused,omitempty"`
	Done     []Name     `json:"done,omitempty"`     // that are as they were already
	Warnings []string   `json:"warnings,omitempty"` // sentences
}

// Err returns why the plan cannot be executed, naming what would be lost, or nil.
// It is of code restore_refused.
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
		fmt.Fprintf(&b, "%s: %s", show(r.Path), r.Why)
	}
	var remedies []string
	for _, r := range p.Refused {
		if r.remedy != "" && !slices.Contains(remedies, r.remedy) && len(remedies) < 3 {
			remedies = append(remedies, r.remedy)
		}
	}
	if len(p.Steps) > 0 {
		remedies = append(remedies, "--partial restores the rest alone.")
	}
	return fault.New(fault.RestoreRefused, "checkpoint.plan", fmt.Sprintf("Nothing was restored, as not all of %s can be taken back: %s.", p.What, b.String()),
		strings.Join(remedies, " ")).Because(p.Refused[0].Reason)
}

// Plan says what taking back some entries would do to the files as they are now;
// it changes none of them. Errors are of code checkpoint_not_found,
// checkpoint_failed and cancelled; what stands against it is in Refused.
func (s *Store) Plan(ctx context.Context, files *workspace.Workspace, w What) (*Plan, error) {
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
		Plan:   &Plan{Session: h.Session, What: w.name(), Partial: w.Partial, Entries: entries},
		store:  s,
		files:  files,
		picked: map[*Entry]bool{},
		look:   looker{store: s, files: files, finder: func() *discovery.Finder { return nil }, tree: tree{}},
	}
	defer p.look.closeFolder()
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
			return nil, cancelled(ctx, "Looking at what can be restored")
		}
		if err := p.path(path, of[path]); err != nil {
			return nil, err
		}
	}
	p.sort()
	p.foldersThatStay()
	p.sort()
	return p.Plan, nil
}

// name is what a person calls it.
func (w What) name() string {
	switch {
	case w.Call != "":
		return "call " + escape.Clip(escape.Line(w.Call), maxPrompt)
	case w.Since:
		return fmt.Sprintf("turn %d and all after it", w.Turn)
	}
	return fmt.Sprintf("turn %d", w.Turn)
}

// planning is a plan in the making.
type planning struct {
	*Plan
	store  *Store
	files  *workspace.Workspace
	picked map[*Entry]bool
	look   looker
}

func (p *planning) warnOf(e *Entry) {
	switch {
	case e.Running:
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s %s has not ended yet, or its process was killed and nobody has looked since: nothing of it is taken back.", e.ID(), e.Tool))
	case e.Interrupted:
		p.Warnings = append(p.Warnings, fmt.Sprintf("The process ended in the middle of %s %s: what was changed until the next look at the files is counted to it.", e.ID(), e.Tool))
	}
	if e.Background && e.Kind == KindCall && len(e.Files) > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("Something that an earlier command has started was running during %s %s: what that changed meanwhile is counted to this call.", e.ID(), e.Tool))
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

// foldersThatStay leaves out the directories that hold something which the plan does
// not remove: a directory that a call has made goes only when nothing else is in it,
// and one that was a file is not taken away from what is in it.
func (p *planning) foldersThatStay() {
	goes := map[string]bool{}
	var stay []Name
	for i, s := range slices.Backward(p.Steps) { // what is in a directory before it
		if s.Now.Kind == Folder && s.Then.Kind != Folder && holdsMore(string(s.Path), goes) {
			p.Steps = slices.Delete(p.Steps, i, i+1)
			if s.Then.Kind == Absent {
				stay = append(stay, s.Path)
			} else {
				p.refuse(s.Path, fault.LaterWork, "it is a directory now that holds something else")
			}
			continue
		}
		goes[string(s.Path)] = s.Then.Kind == Absent
	}
	for _, path := range slices.Backward(stay) {
		p.Warnings = append(p.Warnings, staysText(path))
	}
}

// holdsMore reports whether a directory holds anything but what goes.
func holdsMore(path string, goes map[string]bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // the restore tells what is wrong
	}
	defer func() { _ = f.Close() }() // nothing was written
	names, _ := f.Readdirnames(-1)
	return slices.ContainsFunc(names, func(name string) bool { return !goes[filepath.Join(path, name)] })
}

func (p *planning) refuse(path Name, reason fault.Reason, why string) {
	p.Refused = append(p.Refused, Refusal{Path: path, Reason: reason, Why: why})
}

// path plans what becomes of one path.
func (p *planning) path(path Name, c chain) error {
	c, halves := p.withoutHalves(c)
	if len(c) == 0 {
		p.Done = append(p.Done, path)
		return nil
	}
	last := c[len(c)-1].after
	seen := p.look.fresh(string(path), last.NotKept == "", false)
	p.look.closeFolder()
	now := seen.state
	if now.Kind == Other && strings.HasPrefix(now.NotKept, "it lies outside") {
		p.refuse(path, fault.NotKept, now.NotKept)
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
		p.Refused = append(p.Refused, Refusal{path, fault.Changed, "it was changed by somebody else after the last recorded call" + p.by(c),
			"Save such an edit elsewhere and bring the file back to how the call left it; or restore single calls that are not about it."})
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
	step := FileStep{Path: path, Now: now, Then: then.state, Merged: then.merged, data: then.data, Action: actionOf(now, then.state)}
	if step.Diff, err = p.diff(step); err != nil {
		p.refuse(path, fault.NotKept, short(err))
		return nil
	}
	p.Steps = append(p.Steps, step)
	return nil
}

// by names whose change the last recorded one is.
func (p *planning) by(c chain) string {
	for _, l := range slices.Backward(c) {
		for _, e := range l.owners {
			return ", " + e.called(p.Session)
		}
	}
	return ""
}

// called is an entry for people.
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

// Error makes a Refusal an error inside of the planning.
func (r *Refusal) Error() string { return show(r.Path) + ": " + r.Why }

// value is a state with its content, as far as that is not kept.
type value struct {
	state  State
	data   []byte // nil: the store has it
	merged bool
}

// without returns what becomes of cur, which the chain is in force for, when the
// picked links are taken back, the last one first.
func (p *planning) without(path Name, c chain, cur value) (value, error) {
	for j := len(c) - 1; j >= 0; j-- {
		switch c[j].of(p.picked) {
		case others:
			continue
		case both:
			return cur, p.sideBySide(path, c[j])
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

// sideBySide refuses to take back what another call may have done, too.
func (p *planning) sideBySide(path Name, l link) error {
	r := &Refusal{Path: path, Reason: fault.LaterWork}
	for _, e := range l.owners {
		if p.picked[e] {
			continue
		}
		r.Why = "another call was running at the same time and may have changed it: " + e.called(p.Session)
		switch {
		case e.Session != p.Session:
			r.remedy = "What calls of two sessions may have done at the same time cannot be taken back for either: change the file by hand."
		case len(p.Entries) > 0 && p.Entries[0].Turn != e.Turn:
			r.remedy = fmt.Sprintf("Take both back together: turn %d with --since.", min(e.Turn, p.Entries[0].Turn))
		default:
			r.remedy = fmt.Sprintf("Take both back together: turn %d.", e.Turn)
		}
		break
	}
	return r
}

// reverse takes one link back from cur; later are the links behind it.
func (p *planning) reverse(path Name, l link, later chain, cur value) (value, error) {
	before, after := l.before, l.after
	if before.Mode != after.Mode && before.Kind == after.Kind && cur.state.Kind == before.Kind && cur.state.Mode == after.Mode {
		cur.state.Mode = before.Mode
	}
	now := cur.state.content()
	switch {
	case before.content() == after.content() || now == before.content():
		return cur, nil
	case before.Kind == Other || before.NotKept != "":
		return cur, &Refusal{Path: path, Reason: fault.NotKept, Why: "what it was before is not kept: " + orElse(before.NotKept, "it was no regular file")}
	case now == after.content() && (after.Kind == Other || after.NotKept != ""):
		return cur, &Refusal{Path: path, Reason: fault.NotKept, Why: "what it is now is not kept, so that nobody could bring it back: " + orElse(after.NotKept, "it is no regular file")}
	case now == after.content():
		return value{state: before}, nil
	case before.Kind != File || after.SHA256 == "" || cur.state.Kind != File || cur.state.NotKept != "":
		return cur, p.laterWork(path, later, "it cannot be taken back by itself")
	}
	text, err := p.mergeOf(before, after, cur)
	switch {
	case errors.Is(err, errOverlap) || errors.Is(err, errNoText):
		return cur, p.laterWork(path, later, err.Error())
	case err != nil:
		return cur, &Refusal{Path: path, Reason: fault.NotKept, Why: short(err)}
	}
	state := cur.state
	state.SHA256, state.Size = sumOf([]byte(text)), int64(len(text))
	return value{state: state, data: []byte(text), merged: true}, nil
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// laterWork refuses to lose what came after a link.
func (p *planning) laterWork(path Name, later chain, why string) error {
	const nobodys = "somebody else"
	remedy := "Save an edit of somebody else's elsewhere and take it out of the file first."
	var by []string
	for _, l := range later {
		if l.of(p.picked) == chosen {
			continue
		}
		name := nobodys
		if len(l.owners) > 0 {
			name = l.owners[0].called(p.Session)
			remedy = "Take " + name + " back first." // the last one, in the end
		}
		if !slices.Contains(by, name) {
			by = append(by, name)
		}
	}
	if len(by) == 0 {
		by = append(by, nobodys)
	}
	return &Refusal{path, fault.LaterWork, fmt.Sprintf("later work would be lost, of %s: %s", strings.Join(by, ", "), why), remedy}
}

func (p *planning) mergeOf(before, after State, cur value) (string, error) {
	old, err := p.store.get(before.SHA256)
	if err != nil {
		return "", err
	}
	base, err := p.store.get(after.SHA256)
	if err != nil {
		return "", err
	}
	now := cur.data
	if now == nil {
		if now, err = p.store.get(cur.state.SHA256); err != nil {
			return "", err
		}
	}
	return merge(string(old), string(base), string(now))
}

// withoutHalves splits off what a restore has done that was killed: the next one
// begins where that one did.
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

// modeText is how permissions are shown.
func modeText(m fs.FileMode) string { return fmt.Sprintf("%04o", uint32(m.Perm())) }

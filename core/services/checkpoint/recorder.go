package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// RecorderOptions are the parts of a [Recorder]. Session, Files and Finder are
// required.
type RecorderOptions struct {
	Session string
	Files   *workspace.Workspace
	// Finder returns what finds files, and so says what is ignored.
	Finder func() *discovery.Finder
	// Background reports whether something that a command has started may still be
	// running, which changes files between calls. nil: nothing ever is.
	Background func() bool
}

// Recorder keeps what a session's calls change. It opens nothing before the first
// of them; from then on it holds the session's lock, until Close. It is safe for
// concurrent use, as by subagents that run side by side.
type Recorder struct {
	store *Store
	o     RecorderOptions

	mu      sync.Mutex
	closed  bool
	log     *log // nil: not opened yet
	unlock  func()
	look    looker
	late    []string // objects that need not be on the disk yet
	pending *line    // a turn without an entry so far
	turn    int
	number  int // of the turn's last entry

	running int      // calls
	journal []Change // while calls run
	passed  int      // changes that were in the journal before those that are
}

// Record returns a Recorder for a session. It does no I/O.
func (s *Store) Record(o RecorderOptions) *Recorder {
	return &Recorder{store: s, o: o, look: looker{store: s, files: o.Files, finder: o.Finder, tree: tree{}}}
}

// BeginTurn says that what follows comes of this prompt of the person's. A turn in
// which nothing is changed leaves no trace.
func (r *Recorder) BeginTurn(prompt string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = &line{Type: lineTurn, Prompt: escape.Plain(prompt, maxPrompt), Time: r.store.o.Now()}
}

// maxPrompt is how many characters of a prompt are kept.
const maxPrompt = 80

// Call is a tool call that is about to run.
type Call struct {
	ID    string
	Tool  string
	About string // what it will do; its beginning is recorded
	Agent string // the subagent whose call it is; "" for the main one
	// Paths are the files that it may change, absolute; empty: any.
	Paths []string
	// Progress, if set, is called where many files have to be read before the call
	// can run, with their number, at the most once and before Begin returns.
	Progress func(files int)
}

// Taken is a call for which all is kept that it may change. End is to be called
// once.
type Taken struct {
	r          *Recorder
	turn       int
	number     int
	everywhere bool
	paths      []string
	before     []State // of paths
	from       int     // where its part of the journal begins
	notes      []string
}

// Begin keeps what a call may change, before it runs. When it returns without an
// error, that is on the disk. An error is of code checkpoint_failed, cancelled, or
// what a look at the directories gave: then what the call changes cannot be undone.
func (r *Recorder) Begin(ctx context.Context, c Call) (*Taken, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.open(ctx); err != nil {
		return nil, failed("What the files hold cannot be kept", err)
	}
	t := &Taken{r: r, everywhere: len(c.Paths) == 0}
	for _, path := range c.Paths {
		t.paths = append(t.paths, canonical(path)...)
	}
	slices.Sort(t.paths)
	t.paths = slices.Compact(t.paths)
	r.look.progress = c.Progress
	err := r.lookBefore(ctx, t)
	r.look.progress = nil
	if err != nil {
		return nil, failed("What the files hold cannot be kept", err)
	}
	begin := line{Type: lineBegin, Kind: KindCall, Call: c.ID, Tool: c.Tool, Agent: c.Agent, About: escape.Plain(c.About, maxPrompt), Everywhere: t.everywhere}
	begin.Background = t.everywhere && r.background()
	if err := r.begin(t, begin); err != nil {
		return nil, failed("What the files hold cannot be kept", err)
	}
	return t, nil
}

// The methods below expect r.mu to be held.

// open opens the log at the first need, and settles what a killed process has
// left.
func (r *Recorder) open(ctx context.Context) error {
	if r.closed {
		return fault.New(fault.CheckpointFailed, "checkpoint.open", "The checkpoints of this session are closed.", "")
	}
	if r.log != nil {
		return nil
	}
	unlock, err := r.store.enter(ctx, r.o.Session)
	if err != nil {
		return err
	}
	l, lines, err := r.store.openLog(ctx, r.o.Session)
	if err == nil {
		r.log = l
		r.turn, r.number = lastOf(lines)
		err = r.settle(ctx, lines)
	}
	if err != nil {
		if r.log != nil {
			_ = r.log.close() // the error is the one to tell
			r.log = nil
		}
		unlock()
		return err
	}
	r.unlock = unlock
	if !r.look.full {
		r.look.cache = r.store.lastTree()
	}
	return nil
}

// lastOf returns the last turn and the number of its last entry.
func lastOf(lines []line) (turn, number int) {
	for _, l := range lines {
		switch {
		case l.Type == lineTurn:
			turn, number = l.Turn, 0
		case l.Type == lineBegin || l.Type == lineEnd:
			number = max(number, l.Number)
		}
	}
	return turn, number
}

// lastTree returns the tree that was kept last by any session; nil: none.
func (s *Store) lastTree() tree {
	sum, err := os.ReadFile(filepath.Join(s.o.Dir, indexFile))
	if err != nil {
		return nil
	}
	data, err := s.get(strings.TrimSpace(string(sum)))
	if err != nil {
		return nil
	}
	t, err := decodeTree(data)
	if err != nil {
		return nil
	}
	return t
}

// lookBefore looks at what a call may change and records what others have changed
// since the last look.
func (r *Recorder) lookBefore(ctx context.Context, t *Taken) error {
	for _, sum := range r.late {
		if err := syncFile(r.store.objectPath(sum)); err != nil {
			return err
		}
	}
	r.late = nil
	first := false
	var f findings
	if t.everywhere {
		first = !r.look.full
		var err error
		if f, err = r.look.everything(ctx); err != nil {
			return err
		}
	} else {
		f = r.look.named(t.paths, true)
	}
	t.notes = f.notes
	r.note(f.changes)
	if len(f.changes) > 0 && r.running == 0 {
		if err := r.between(f.changes); err != nil {
			return err
		}
	}
	for _, path := range t.paths {
		t.before = append(t.before, r.look.state(path))
	}
	if first {
		return r.keepTree(f)
	}
	return nil
}

// note puts changes into the journal of those calls that run.
func (r *Recorder) note(changes []Change) {
	if r.running > 0 {
		r.journal = append(r.journal, changes...)
	}
}

// between records what somebody else has changed.
func (r *Recorder) between(changes []Change) error {
	if err := r.beginTurn(); err != nil {
		return err
	}
	r.number++
	return r.log.write(line{Type: lineEnd, Turn: r.turn, Number: r.number, Kind: KindBetween, Everywhere: true, Background: r.background(), Files: changes})
}

// background reports whether something that a command has started is running.
func (r *Recorder) background() bool { return r.o.Background != nil && r.o.Background() }

// keepTree keeps what the first look at everything has found, for the case that
// this process is killed, and for the next one.
func (r *Recorder) keepTree(f findings) error {
	sum, err := r.store.put(r.look.tree.encode(), true)
	if err != nil {
		return err
	}
	folders := make([]Name, 0, 1)
	for _, folder := range r.o.Files.Folders() {
		folders = append(folders, Name(folder))
	}
	if err := r.log.write(line{Type: lineTree, Tree: sum, NotKept: f.gaps, Notes: f.notes, Folders: folders}); err != nil {
		return err
	}
	return r.store.replace(indexFile, []byte(sum+"\n"))
}

// replace puts a small file of the store in the place of another; it need not
// outlive the machine.
func (s *Store) replace(name string, data []byte) error {
	f, err := createTemp(s.o.Dir)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.o.Dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // else the next clean-up does
	}
	return err
}

// beginTurn records the turn that is due.
func (r *Recorder) beginTurn() error {
	if r.pending == nil {
		if r.turn > 0 {
			return nil
		}
		r.pending = &line{Type: lineTurn, Time: r.store.o.Now()}
	}
	l := *r.pending
	l.Turn = r.turn + 1
	if err := r.log.write(l); err != nil {
		return err
	}
	r.pending, r.turn, r.number = nil, l.Turn, 0
	return nil
}

// begin records that an entry begins, and puts all on the disk.
func (r *Recorder) begin(t *Taken, l line) error {
	if err := r.beginTurn(); err != nil {
		return err
	}
	l.Turn, l.Number = r.turn, r.number+1
	if l.Files == nil {
		for i, path := range t.paths {
			l.Files = append(l.Files, Change{Path: Name(path), Before: t.before[i]})
		}
	}
	if err := r.log.write(l); err != nil {
		return err
	}
	if err := r.log.sync(); err != nil {
		return err
	}
	if err := r.store.at(StepTaken); err != nil {
		return err
	}
	r.number++
	t.turn, t.number, t.from = r.turn, r.number, r.passed+len(r.journal)
	r.running++
	return nil
}

// End looks at what the call has changed and records it. The sentences that it
// returns are for the person and the model: of changes that cannot be undone. It
// is not called off when ctx ends.
func (t *Taken) End(ctx context.Context) []string {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	changes, notes, err := t.changes(context.WithoutCancel(ctx))
	if err == nil {
		err = r.end(t, KindCall, changes, notes)
	}
	r.leave()
	if err != nil {
		return []string{"What this call changed could not be recorded, so that it cannot be undone: " + fault.Line(err)}
	}
	return unrestorable(changes)
}

// leave says that a call has ended.
func (r *Recorder) leave() {
	if r.running--; r.running == 0 {
		r.passed += len(r.journal)
		r.journal = nil
	}
}

func (r *Recorder) end(t *Taken, kind EntryKind, changes []Change, notes []string) error {
	if r.closed {
		return fault.New(fault.CheckpointFailed, "checkpoint.end", "The session has been closed.", "")
	}
	return r.log.write(line{Type: lineEnd, Kind: kind, Turn: t.turn, Number: t.number, Files: changes, Notes: notes})
}

// changes looks at what has changed since the call began.
func (t *Taken) changes(ctx context.Context) (changes []Change, notes []string, err error) {
	r := t.r
	if r.closed {
		return nil, nil, fault.New(fault.CheckpointFailed, "checkpoint.end", "The session has been closed.", "")
	}
	if !t.everywhere {
		f := r.look.named(t.paths, false)
		r.note(f.changes)
		for i, path := range t.paths {
			now := r.look.state(path)
			if now != t.before[i] {
				changes = append(changes, Change{Name(path), t.before[i], now})
			}
			if now.SHA256 != "" {
				r.late = append(r.late, now.SHA256)
			}
		}
		return changes, nil, nil
	}
	f, err := r.look.everything(ctx)
	if err != nil {
		return nil, nil, err
	}
	r.note(f.changes)
	first := map[Name]State{}
	for _, c := range r.journal[t.from-r.passed:] {
		if _, met := first[c.Path]; !met {
			first[c.Path] = c.Before
		}
	}
	for path, before := range first {
		if now := r.look.state(string(path)); now != before {
			changes = append(changes, Change{path, before, now})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return changes, f.notes, nil
}

// unrestorable says which changes cannot be undone.
func unrestorable(changes []Change) []string {
	var all []string
	for _, c := range changes {
		if c.Before.known() && c.After.known() {
			continue
		}
		why := cmp.Or(c.Before.NotKept, c.After.NotKept)
		all = append(all, "The change of "+show(c.Path)+" cannot be undone, as its content is not kept: "+why+".")
		if len(all) == 5 {
			return append(all, "There are more such changes: see fettle restore.")
		}
	}
	return all
}

// Close ends the recording and gives the session's lock back. It is idempotent.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.log == nil {
		return nil
	}
	err := r.log.close()
	r.log = nil
	r.unlock()
	return err
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, os.ErrInvalid) { // where one that is open for reading cannot be synced
		return nil
	}
	return err
}

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

// RecorderOptions configure a [Recorder]. Session, Files and Finder are required.
type RecorderOptions struct {
	Session string
	Files   *workspace.Workspace
	// Finder returns the file finder, which also determines the ignored files.
	Finder func() *discovery.Finder
	// Background reports whether a process that a command has started may still be running and
	// changing files between calls. nil: none is.
	Background func() bool
}

// Recorder records the changes of a session's calls. It opens no file before the first call; then
// it holds the session's lock until Close. It is safe for concurrent use, for example by concurrent
// subagents.
type Recorder struct {
	store *Store
	o     RecorderOptions

	mu      sync.Mutex
	closed  bool
	log     *log // nil: not opened yet
	unlock  func()
	look    scanner
	late    []string // objects that need not be on disk yet
	pending *line    // a turn without an entry yet
	turn    int
	number  int // of the turn's last entry

	running int      // number of running calls
	journal []Change // during calls
	passed  int      // number of changes removed from the front of the journal
}

// Record returns a Recorder for a session. It does no I/O.
func (s *Store) Record(o RecorderOptions) *Recorder {
	return &Recorder{store: s, o: o, look: scanner{store: s, files: o.Files, finder: o.Finder, tree: tree{}}}
}

// BeginTurn starts a turn with this prompt of the user. A turn without changes leaves no record.
func (r *Recorder) BeginTurn(prompt string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = &line{Type: lineTurn, Prompt: escape.Plain(prompt, maxPrompt), Time: r.store.o.Now()}
}

// maxPrompt is the number of characters of a prompt that are stored.
const maxPrompt = 80

// Call is a tool call that is about to run.
type Call struct {
	ID    string
	Tool  string
	About string // description of the call; its beginning is recorded
	Agent string // the subagent that makes the call; "" for the main agent
	// Paths are the absolute paths of the files that it may change; empty: any.
	Paths []string
	// Progress, if set, is called at most once, before Begin returns, with the number of files if
	// many must be read before the call can run.
	Progress func(files int)
}

// ActiveCall is a call for which every file that it may change is saved. End or Abandon must be
// called once.
type ActiveCall struct {
	r          *Recorder
	turn       int
	number     int
	everywhere bool
	paths      []string
	before     []State // of paths
	from       int     // start of its part of the journal
	notes      []string
}

// Begin saves the files that a call may change, before it runs. When it returns without an error,
// they are on disk. An error is of code checkpoint_failed, cancelled, or that of scanning the
// directories: then the changes of the call cannot be undone.
func (r *Recorder) Begin(ctx context.Context, c Call) (*ActiveCall, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.open(ctx); err != nil {
		return nil, failed("The files cannot be saved", err)
	}
	t := &ActiveCall{r: r, everywhere: len(c.Paths) == 0}
	for _, path := range c.Paths {
		t.paths = append(t.paths, canonical(r.o.Files, path)...)
	}
	slices.Sort(t.paths)
	t.paths = slices.Compact(t.paths)
	r.look.progress = c.Progress
	err := r.scanBefore(ctx, t)
	r.look.progress = nil
	if err != nil {
		return nil, failed("The files cannot be saved", err)
	}
	begin := line{Type: lineBegin, Kind: KindCall, Call: c.ID, Tool: c.Tool, Agent: c.Agent, About: escape.Plain(c.About, maxPrompt), Everywhere: t.everywhere}
	begin.Background = t.everywhere && r.background()
	if err := r.begin(t, begin); err != nil {
		return nil, failed("The files cannot be saved", err)
	}
	return t, nil
}

// The methods below require r.mu to be held.

// open opens the log on first use, and completes the entries that a killed process has left.
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
			_ = r.log.close() // the first error is reported
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

// lastTree returns the last tree stored by any session; nil: none.
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

// scanBefore scans the files that a call may change, and records changes by other processes since
// the last scan.
func (r *Recorder) scanBefore(ctx context.Context, t *ActiveCall) error {
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

// note adds changes to the journal of the running calls.
func (r *Recorder) note(changes []Change) {
	if r.running > 0 {
		r.journal = append(r.journal, changes...)
	}
}

// between records a change by another process.
func (r *Recorder) between(changes []Change) error {
	if err := r.beginTurn(); err != nil {
		return err
	}
	r.number++
	return r.log.write(line{Type: lineEnd, Turn: r.turn, Number: r.number, Kind: KindBetween, Everywhere: true, Background: r.background(), Files: changes})
}

// background reports whether a process that a command has started is running.
func (r *Recorder) background() bool { return r.o.Background != nil && r.o.Background() }

// keepTree stores the result of the first full scan, for the next process, also if this one is
// killed.
func (r *Recorder) keepTree(f findings) error {
	sum, err := r.store.put(r.look.tree.encode(), true)
	if err != nil {
		return err
	}
	dirs := make([]Name, 0, 1)
	for _, dir := range r.o.Files.Directories() {
		dirs = append(dirs, Name(dir))
	}
	if err := r.log.write(line{Type: lineTree, Tree: sum, Unrestorable: f.gaps, Notes: f.notes, Directories: dirs}); err != nil {
		return err
	}
	return r.store.replace(indexFile, []byte(sum+"\n"))
}

// replace replaces a small file of the store; it need not survive a crash of the machine.
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
		_ = os.Remove(f.Name()) // otherwise the next clean-up does
	}
	return err
}

// beginTurn records the pending turn.
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

// begin records the start of an entry, and flushes everything to disk.
func (r *Recorder) begin(t *ActiveCall, l line) error {
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
	if err := r.store.at(StepSaved); err != nil {
		return err
	}
	r.number++
	t.turn, t.number, t.from = r.turn, r.number, r.passed+len(r.journal)
	r.running++
	return nil
}

// End scans for the changes of the call and records them. It returns sentences for the user and the
// model about changes that cannot be undone. It does not stop when ctx ends.
func (t *ActiveCall) End(ctx context.Context) []string {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	changes, notes, err := t.changes(context.WithoutCancel(ctx))
	if err == nil {
		err = r.end(t, KindCall, changes, notes)
	}
	r.leave()
	if err != nil {
		return []string{"The changes of this call could not be recorded, so that they cannot be undone: " + lineOf(err)}
	}
	return unrestorable(changes)
}

// Abandon ends a call that has changed nothing. Changes since Begin are recorded as those of other
// processes. It does not stop when ctx ends.
func (t *ActiveCall) Abandon(ctx context.Context) {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	changes, notes, err := t.changes(context.WithoutCancel(ctx))
	if err == nil {
		err = r.end(t, KindBetween, changes, notes)
	}
	r.leave()
	if err != nil {
		r.store.o.Logger.Warn("the end of a call could not be recorded", "error", err)
	}
}

// leave records the end of a call.
func (r *Recorder) leave() {
	if r.running--; r.running == 0 {
		r.passed += len(r.journal)
		r.journal = nil
	}
}

func (r *Recorder) end(t *ActiveCall, kind EntryKind, changes []Change, notes []string) error {
	if r.closed {
		return fault.New(fault.CheckpointFailed, "checkpoint.end", "The session has been closed.", "")
	}
	return r.log.write(line{Type: lineEnd, Kind: kind, Turn: t.turn, Number: t.number, Files: changes, Notes: notes})
}

// changes returns the changes since the call began.
func (t *ActiveCall) changes(ctx context.Context) (changes []Change, notes []string, err error) {
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

// unrestorable returns the changes that cannot be undone.
func unrestorable(changes []Change) []string {
	var all []string
	for _, c := range changes {
		if c.Before.known() && c.After.known() {
			continue
		}
		why := cmp.Or(c.Before.NotStored, c.After.NotStored)
		all = append(all, "The change of "+show(c.Path)+" cannot be undone, because its content is not stored: "+why+".")
		if len(all) == 5 {
			return append(all, "There are more such changes: see fettle restore.")
		}
	}
	return all
}

// Close ends the recording and releases the session's lock. It is idempotent.
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
	if errors.Is(err, os.ErrInvalid) { // where a file open for reading cannot be synced
		return nil
	}
	return err
}

// lineOf returns an error as one line for users.
func lineOf(err error) string {
	if e := fault.As(err); e != nil {
		return e.Line()
	}
	return err.Error()
}

// Package tracker combines file state and instructions: it reports whether a file has changed since
// it was read, and loads the agents.md files for accessed paths.
package tracker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Instructions finds the instruction files of a path that are not known yet, outermost first;
// *instructions.Finder implements it.
type Instructions interface {
	For(ctx context.Context, p workspace.Path, known func(key string) bool) ([]instructions.Document, error)
}

// Options configure a [FileTracker].
type Options struct {
	// State is the file state to track: that of a Config, or a separate one. Required.
	State *filestate.Service
	// Instructions finds agents.md files; nil: none.
	Instructions Instructions
}

// FileTracker records the files that one conversation has read, and reports later changes. It
// stores no file content except the loaded instructions, and is safe for concurrent use.
type FileTracker struct {
	state *filestate.Service
	find  Instructions

	mu       sync.Mutex
	loaded   map[string]bool // instruction files loaded in this session
	byAccess []instructions.Document
	started  bool
	atStart  []instructions.Document // loaded at the beginning of the session
	bytes    int                     // of start and given
}

// New returns a FileTracker.
func New(o Options) *FileTracker { return &FileTracker{state: o.State, find: o.Instructions} }

// TrackRead records that the model was shown the file. If a tool has shown or written the file
// since the last TrackRead, the hash of those bytes is used; otherwise TrackRead reads and hashes
// the file.
func (t *FileTracker) TrackRead(ctx context.Context, p workspace.Path) error {
	if t.state.Cache.ClaimRead(p.String()) {
		return nil
	}
	snap, err := t.state.Snapshot(ctx, p)
	if err != nil {
		return err
	}
	t.state.Cache.Track(p.String(), snap)
	return nil
}

// HasBeenModifiedSinceRead reports whether the bytes of a tracked file differ from those shown. A
// file that is deleted, too large or no longer regular counts as modified. For an untracked file
// the result is false, which grants no permission. The error is that of reading the file.
func (t *FileTracker) HasBeenModifiedSinceRead(ctx context.Context, p workspace.Path) (bool, error) {
	e, ok := t.state.Cache.ByPath(p.String())
	if !ok || e.SHA256 == "" {
		return false, nil
	}
	snap, err := t.state.Snapshot(ctx, p)
	switch fault.CodeOf(err) {
	case "":
		return snap.SHA256 != e.SHA256, nil
	case fault.FileNotFound, fault.FileTooLarge, fault.NotARegularFile, fault.TargetIsDirectory:
		return true, nil
	}
	return false, err
}

// GetAgentsMdIfNew returns the instructions for p that were not loaded in this session yet,
// outermost first, each labelled with its path; "" for none. After 256 KiB of instructions in a
// session, further files are only named by their paths, so that the model can read them.
func (t *FileTracker) GetAgentsMdIfNew(ctx context.Context, p workspace.Path) (string, error) {
	fresh, err := t.load(ctx, p)
	return Label(fresh), err
}

// Accessed records a successful access by a tool and loads its instructions for
// [FileTracker.LoadedByAccess]. It ignores errors, because an access must not fail for them.
func (t *FileTracker) Accessed(ctx context.Context, p workspace.Path) {
	_, _ = t.load(ctx, p)
}

func (t *FileTracker) load(ctx context.Context, p workspace.Path) ([]instructions.Document, error) {
	if t.find == nil {
		return nil, nil
	}
	docs, err := t.find.For(ctx, p, t.isLoaded)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := t.markLoaded(docs)
	t.byAccess = append(t.byAccess, fresh...)
	return fresh, nil
}

// isLoaded reports whether the instruction file with this key is already loaded.
func (t *FileTracker) isLoaded(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loaded[key]
}

// LoadAtStart loads the instruction files for the beginning of a session, as returned by find, once until
// ClearSession. known reports the files that are already loaded. LoadAtStart returns all instructions
// loaded this way.
func (t *FileTracker) LoadAtStart(ctx context.Context, find func(ctx context.Context, known func(key string) bool) ([]instructions.Document, error)) ([]instructions.Document, error) {
	t.mu.Lock()
	begun, start := t.started, t.atStart
	t.mu.Unlock()
	if begun {
		return slices.Clone(start), nil
	}
	docs, err := find(ctx, t.isLoaded)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.started {
		t.started, t.atStart = true, t.markLoaded(docs)
	}
	return slices.Clone(t.atStart), nil
}

// maxInstructions is the limit of the bytes of all loaded instruction files; further files are only
// named.
const maxInstructions = 256 << 10

// markLoaded marks documents as loaded and returns the new ones, within the limit; t.mu is held.
func (t *FileTracker) markLoaded(docs []instructions.Document) []instructions.Document {
	var fresh []instructions.Document
	for _, d := range docs {
		if t.loaded[d.Key] {
			continue
		}
		if t.loaded == nil {
			t.loaded = make(map[string]bool)
		}
		t.loaded[d.Key] = true
		fresh = append(fresh, t.truncated(d))
	}
	return fresh
}

// truncated returns a document truncated to the remaining limit, in whole lines, with a note if
// something is missing; t.mu is held.
func (t *FileTracker) truncated(d instructions.Document) instructions.Document {
	room := maxInstructions - t.bytes
	if len(d.Text) <= room {
		t.bytes += len(d.Text)
		return d
	}
	t.bytes = maxInstructions
	d.Text = d.Text[:strings.LastIndexByte(d.Text[:room], '\n')+1] + fmt.Sprintf(
		"[The remainder of %s is omitted, because the instruction files of this session exceed %d KiB. Read it before you work in its directory.]\n",
		d.Path, maxInstructions>>10)
	return d
}

// LoadedByAccess returns all instructions that accesses of this session loaded, in loading order.
func (t *FileTracker) LoadedByAccess() []instructions.Document {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.byAccess)
}

// ClearSession forgets all tracked files and loaded instructions, so that instructions can be
// loaded again.
func (t *FileTracker) ClearSession() {
	t.mu.Lock()
	t.loaded, t.byAccess, t.started, t.atStart, t.bytes = nil, nil, false, nil, 0
	t.mu.Unlock()
	t.state.Cache.Clear()
}

// Label joins documents, each after a line with its path.
func Label(docs []instructions.Document) string {
	var b strings.Builder
	for _, d := range docs {
		b.WriteString("--- Instructions from " + d.Path + " ---\n")
		b.WriteString(strings.TrimRight(d.Text, "\n"))
		b.WriteString("\n")
	}
	return b.String()
}

// Package tracker joins file state and instructions: it tells whether a file
// that was read has changed, and which agents.md files its reading brings up.
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

// Instructions finds the instruction files of a path that are not known yet,
// parents first; *instructions.Finder has it.
type Instructions interface {
	For(ctx context.Context, p workspace.Path, known func(key string) bool) ([]instructions.Document, error)
}

// Options configure a [FileTracker].
type Options struct {
	// State is the file state that the tracker works over: that of a Config,
	// or one of its own. Required.
	State *filestate.Service
	// Instructions finds agents.md files; nil: there are none.
	Instructions Instructions
}

// FileTracker records what one conversation has read, and reports later changes. It keeps no file content
// but the instructions that it gave out, and is safe for concurrent use.
type FileTracker struct {
	state *filestate.Service
	find  Instructions

	mu    sync.Mutex
	keys  map[string]bool // instruction files given in this session
	given []instructions.Document
	begun bool
	start []instructions.Document // given at the beginning of the session
	bytes int                     // of start and given
}

// New returns a FileTracker.
func New(o Options) *FileTracker { return &FileTracker{state: o.State, find: o.Instructions} }

// TrackRead notes that the model was shown the file. What a tool showed or
// wrote since the last TrackRead is known by the hash of those very bytes and
// is not read again; else the file is read and hashed now.
func (t *FileTracker) TrackRead(ctx context.Context, p workspace.Path) error {
	if t.state.Cache.ClaimRead(p.String()) {
		return nil
	}
	snap, err := t.state.Snapshot(ctx, p)
	if err != nil {
		return err
	}
	t.state.Cache.Track(p.String(), filestate.Reading{
		Info: snap.Info, Local: snap.Local, At: snap.At, SHA256: snap.SHA256, Torn: !snap.Stable,
	})
	return nil
}

// HasBeenModifiedSinceRead reports whether a tracked file's bytes differ from
// what was shown; so they do if the file was deleted,
// or is now too large or no regular file. For an untracked file it is false,
// which is no permission. The error is that of reading the file.
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

// GetAgentsMdIfNew returns the instructions for p that were not given in this
// session yet, parents first, each labelled with its path; "" for none
// . Once a session was given 256 KiB of instructions, further ones
// are their paths alone, so that they can be read.
func (t *FileTracker) GetAgentsMdIfNew(ctx context.Context, p workspace.Path) (string, error) {
	fresh, err := t.gather(ctx, p)
	return Label(fresh), err
}

// Accessed notes a successful access by a tool and gathers the
// instructions that it brings up for [FileTracker.Given]. Failures are
// nothing that the access should fail for.
func (t *FileTracker) Accessed(ctx context.Context, p workspace.Path) {
	_, _ = t.gather(ctx, p)
}

func (t *FileTracker) gather(ctx context.Context, p workspace.Path) ([]instructions.Document, error) {
	if t.find == nil {
		return nil, nil
	}
	docs, err := t.find.For(ctx, p, t.gave)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := t.fresh(docs)
	t.given = append(t.given, fresh...)
	return fresh, nil
}

// gave reports whether the instruction file of this key was given already.
func (t *FileTracker) gave(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.keys[key]
}

// Begin gives the instruction files that hold from the beginning of a session,
// those that find returns, once until ClearSession; the files that it is told are
// known were given already. It returns all that were given so.
func (t *FileTracker) Begin(ctx context.Context, find func(ctx context.Context, known func(key string) bool) ([]instructions.Document, error)) ([]instructions.Document, error) {
	t.mu.Lock()
	begun, start := t.begun, t.start
	t.mu.Unlock()
	if begun {
		return slices.Clone(start), nil
	}
	docs, err := find(ctx, t.gave)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.begun {
		t.begun, t.start = true, t.fresh(docs)
	}
	return slices.Clone(t.start), nil
}

// maxInstructions bounds the bytes of all instruction files that a session is
// given; what follows is named by its path.
const maxInstructions = 256 << 10

// fresh marks documents as given and returns those that were not, as far as there
// is room; t.mu is held.
func (t *FileTracker) fresh(docs []instructions.Document) []instructions.Document {
	var fresh []instructions.Document
	for _, d := range docs {
		if t.keys[d.Key] {
			continue
		}
		if t.keys == nil {
			t.keys = make(map[string]bool)
		}
		t.keys[d.Key] = true
		fresh = append(fresh, t.fitted(d))
	}
	return fresh
}

// fitted returns a document as far as there is room for it, in whole lines, with
// a note where something is missing; t.mu is held.
func (t *FileTracker) fitted(d instructions.Document) instructions.Document {
	room := maxInstructions - t.bytes
	if len(d.Text) <= room {
		t.bytes += len(d.Text)
		return d
	}
	t.bytes = maxInstructions
	d.Text = d.Text[:strings.LastIndexByte(d.Text[:room], '\n')+1] + fmt.Sprintf(
		"[What follows in %s is left out, as the instruction files of this session hold more than %d KiB. Read it before you work in its directory.]\n",
		d.Path, maxInstructions>>10)
	return d
}

// Given returns all instructions that accesses of this session brought up, in
// the order in which they came.
func (t *FileTracker) Given() []instructions.Document {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.given)
}

// ClearSession forgets what was tracked and what was given, so that
// instructions may be given again.
func (t *FileTracker) ClearSession() {
	t.mu.Lock()
	t.keys, t.given, t.begun, t.start, t.bytes = nil, nil, false, nil, 0
	t.mu.Unlock()
	t.state.Cache.Clear()
}

// Label joins documents, each under a line with its path.
func Label(docs []instructions.Document) string {
	var b strings.Builder
	for _, d := range docs {
		b.WriteString("--- Instructions from " + d.Path + " ---\n")
		b.WriteString(strings.TrimRight(d.Text, "\n"))
		b.WriteString("\n")
	}
	return b.String()
}

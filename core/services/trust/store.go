// Package trust stores which directories the user trusts.
package trust

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
)

// Store is the file with the user's trust in directories:
//
//	{ "/abs/folder": "TRUST_FOLDER" | "TRUST_PARENT" | "DO_NOT_TRUST" }
//
// Comments and trailing commas are accepted and kept. A key may contain links and need not exist.
// Every call reads the file again. A missing file records nothing. An invalid file is an error of
// code invalid_config as a whole, so that no distrust is overlooked.
//
// A Store is safe for concurrent use, by several processes too.
type Store struct {
	path string
}

// Open returns the store in the file at path. It does no I/O.
func Open(path string) *Store { return &Store{path: path} }

// Path returns the path of the file, as passed to Open.
func (s *Store) Path() string { return s.path }

// Entry is one record of the file.
type Entry struct {
	Path      string `json:"path"`   // the key, as written
	Directory string `json:"folder"` // the directory of the entry, links resolved
	Value     string `json:"value"`  // TRUST_FOLDER, TRUST_PARENT or DO_NOT_TRUST
	State     State  `json:"state"`  // the state that Value records
	Line      int    `json:"line"`   // 1-based, in the file
}

// Decide returns the recorded state of a directory and the entry with it. It considers the entries
// whose directory is equal or an ancestor, with links resolved on both sides, and selects the one
// with the deepest key. Of equally deep keys, a distrusting entry takes precedence. Without an
// entry the state is [Undecided]. The directory need not exist.
func (s *Store) Decide(ctx context.Context, dir string) (State, Entry, error) {
	entries, err := s.List(ctx)
	if err != nil {
		return Undecided, Entry{}, err
	}
	real, err := realDir(dir)
	if err != nil {
		return Undecided, Entry{}, err
	}
	chain := newChain(real)
	var best Entry
	bestDepth := -1
	for _, e := range entries {
		depth, ok := chain.depth(e.Directory)
		if !ok {
			continue
		}
		if e.Value == trustParent {
			depth++ // the key is one level below
		}
		if depth > bestDepth || depth == bestDepth && e.State == Untrusted && best.State != Untrusted {
			best, bestDepth = e, depth
		}
	}
	return best.State, best, nil
}

// List returns the entries in file order.
func (s *Store) List(ctx context.Context) ([]Entry, error) {
	data, err := s.read()
	if err != nil {
		return nil, err
	}
	doc, err := parse(s.path, data)
	if err != nil {
		return nil, err
	}
	for i := range doc.entries {
		if ctx.Err() != nil {
			return nil, cancelled(ctx)
		}
		doc.entries[i].Directory = subject(doc.entries[i])
	}
	return doc.entries, nil
}

// Set records a state for a directory, absolute or relative to the current one; [Undecided] removes
// its record. It replaces all entries of that directory; other entries and all comments stay. The
// file is replaced atomically, gets mode 0600, and is created if missing.
//
// A directory to trust must exist. Set waits for other processes that write the file until ctx
// ends; then the error has code cancelled.
func (s *Store) Set(ctx context.Context, dir string, state State) error {
	value, ok := map[State]string{Trusted: trustDirectory, Untrusted: doNotTrust, Undecided: ""}[state]
	if !ok {
		return fault.New(fault.InvalidConfig, "trust.set", fmt.Sprintf("%s is not a trust state.", state), "")
	}
	real, err := realDir(dir)
	if err != nil {
		return err
	}
	if err := recordable(real, state); err != nil {
		return err
	}
	if state == Undecided && s.missing() {
		return nil
	}
	return s.update(ctx, func(data []byte) ([]byte, error) { return edit(s.path, data, real, value) })
}

// Package trust keeps which directories a person trusts.
package trust

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
)

// Store is the file in which a person's trust is recorded:
//
//	{ "/abs/folder": "TRUST_FOLDER" | "TRUST_PARENT" | "DO_NOT_TRUST" }
//
// Comments and trailing commas are read and kept. A key may lead through links
// and need not exist. The file is read anew at each call; a missing one records
// nothing, and one that cannot be understood as a whole is an error of code
// invalid_config, so that an entry that says no is never overlooked.
//
// A Store is safe for concurrent use, by several processes too.
type Store struct {
	path string
}

// Open returns the store in the file at path. It does no I/O.
func Open(path string) *Store { return &Store{path: path} }

// Path returns the path that Open was given.
func (s *Store) Path() string { return s.path }

// Entry is one record of the file.
type Entry struct {
	Path   string `json:"path"`   // the key, as written
	Folder string `json:"folder"` // the directory that it speaks of, links followed
	Value  string `json:"value"`  // TRUST_FOLDER, TRUST_PARENT or DO_NOT_TRUST
	State  State  `json:"state"`  // what it says
	Line   int    `json:"line"`   // 1-based, in the file
}

// Decide tells what is recorded of a directory and which entry says so: of those
// whose directory is it or contains it, links followed on both sides, the one with
// the deepest key; of equally deep ones, one that says no. With no entry it is
// [Undecided]. The directory need not exist.
func (s *Store) Decide(ctx context.Context, folder string) (State, Entry, error) {
	entries, err := s.List(ctx)
	if err != nil {
		return Undecided, Entry{}, err
	}
	real, err := realFolder(folder)
	if err != nil {
		return Undecided, Entry{}, err
	}
	chain := chainOf(real)
	var best Entry
	bestDepth := -1
	for _, e := range entries {
		depth, ok := chain.depth(e.Folder)
		if !ok {
			continue
		}
		if e.Value == trustParent {
			depth++ // the key lies one below
		}
		if depth > bestDepth || depth == bestDepth && e.State == Untrusted && best.State != Untrusted {
			best, bestDepth = e, depth
		}
	}
	return best.State, best, nil
}

// List returns the entries in the order of the file.
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
		doc.entries[i].Folder = subject(doc.entries[i])
	}
	return doc.entries, nil
}

// Set records a state for a directory, absolute or relative to the current one,
// and [Undecided] takes its record away. It replaces what else speaks of that
// same directory; other entries and all comments stay. The file is replaced in one
// step, has mode 0600 from then on, and is made where it is missing.
//
// A directory to be trusted must exist. Set waits for other processes that are
// at the file until ctx ends; then the error is of code cancelled.
func (s *Store) Set(ctx context.Context, folder string, state State) error {
	value, ok := map[State]string{Trusted: trustFolder, Untrusted: doNotTrust, Undecided: ""}[state]
	if !ok {
		return fault.New(fault.InvalidConfig, "trust.set", fmt.Sprintf("There is no %s of trust.", state), "")
	}
	real, err := realFolder(folder)
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

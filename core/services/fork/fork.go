// Package fork keeps the changes that a session makes to a copy of its directories, and merges them.
//
// A [Store] holds the forks of a project in the user's state directory. A [Fork] has an upper directory
// for each directory of the session: it contains the changed files in the format of overlayfs, or a
// whole copy. The package workspace and the system's overlayfs show the two together; this package only
// records the base of each changed file with [Fork.Touch], compares the fork with the directories as
// they are now with [Fork.Compare], and applies its changes to them with [Fork.Merge].
//
// # Files
//
// The directory of a fork contains
//
//	fork.json    its name, directories and session
//	lock         locked while the fork is in use
//	N/upper      the changes of directory N, or its copy
//	N/work       a directory for overlayfs
//	N/mounted    locked while a command uses N/upper
//	base.jsonl   a line for each changed file: its state when it was changed first
//	base/SHA256  the bytes of that state
//	merge.json   the changes of a merge in progress
//	data         of sessions: checkpoints and recovery files
//
// In an upper directory a character device 0:0 removes the file of that name, and a directory with the
// attribute user.overlay.opaque hides the one below.
//
// A file without a record, or with one that is damaged, is a conflict of every merge. Therefore records
// need not be flushed: after a power failure a merge can be refused, but is never wrong. The same
// holds for the changes of a command whose process was killed before [Mount.Close]: the next Mount records that
// their bases are in doubt, before another command can change them.
package fork

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Mode is how a fork keeps changes.
type Mode string

// Modes.
const (
	Overlay Mode = "overlay" // changed files only
	Copy    Mode = "copy"    // a copy of the directories
)

// Owner is the process that created a fork or last opened it.
type Owner struct {
	PID     int    `json:"pid"`
	Session string `json:"session,omitempty"`
}

// Info describes a fork.
type Info struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"` // unique in the project
	Dirs    []string  `json:"dirs"` // absolute, without links
	Created time.Time `json:"created"`
	Mode    Mode      `json:"mode"`
	Owner   Owner     `json:"owner"`
}

// record is the content of fork.json.
type record struct {
	Version int `json:"v"`
	Info
}

const version = 1

// Layer is a directory of a fork.
type Layer struct {
	Dir   string // absolute, without links
	Upper string // of the changes; the copy in mode Copy
	Work  string // for overlayfs
}

// Fork is an open fork. It is safe for concurrent use. Its lock is held until Close.
type Fork struct {
	Info
	store  *Store
	dir    string
	unlock func()

	mu       sync.Mutex
	bases    *bases
	complete bool // each file of the upper directories has a record
}

// Layers returns the directories of the fork, in the order of Info.Dirs.
func (f *Fork) Layers() []Layer {
	var all []Layer
	for n, dir := range f.Dirs {
		all = append(all, Layer{Dir: dir, Upper: f.upper(n), Work: f.place(n, "work")})
	}
	return all
}

// Close releases the fork, which stays in the store.
func (f *Fork) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.bases.close()
	if f.unlock != nil {
		f.unlock()
		f.unlock = nil
	}
	return err
}

func (f *Fork) place(n int, name string) string {
	return filepath.Join(f.dir, fmt.Sprint(n), name)
}

func (f *Fork) upper(n int) string { return f.place(n, "upper") }

func failed(code fault.Code, op, message, remedy string, err error) error {
	if e := fault.As(err); e != nil {
		return err
	}
	return fault.Wrap(code, "fork."+op, message, remedy, err)
}

package transaction

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// A journal is one file, whose name ends with the state of its set.
const (
	announced  = ".set-announced"  // temporary files may exist
	exchanging = ".set-exchanging" // all of them are flushed; exchanges may have been made
	complete   = ".set-complete"   // all files are exchanged; displaced files may exist
	partial    = ".set-part"       // the journal is being written, and nothing else exists
)

// setsLock is the name of the lock file, which a set and a recovery hold.
const setsLock = "sets.lock"

// version is the version of the format.
const version = 1

// record is the content of a journal.
type record struct {
	Version int      `json:"version"`
	Files   []entry  `json:"files"`
	Made    []string `json:"made,omitempty"` // directories that the set creates, parents first; absolute
}

// entry describes the change of one file.
type entry struct {
	Path    string `json:"path"` // as in the operation, for messages
	Dir     string `json:"dir"`  // absolute, links resolved
	Name    string `json:"name"`
	Temp    string `json:"temp"`          // in Dir
	Old     string `json:"old,omitempty"` // hash of the old content; "": the file did not exist
	New     string `json:"new,omitempty"` // hash of the new content; "": the file is removed
	NewSize int64  `json:"new_size"`      // -1: unknown

	Layer workspace.Layer `json:"layer,omitempty"` // of Dir
}

// journal is the journal of a set in progress. Its lock is held.
type journal struct {
	dir, id, state string
}

func (j *journal) path() string { return filepath.Join(j.dir, j.id+j.state) }

// newID returns the random part of the names of a set.
func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// tempName returns the temporary name of the nth file.
func tempName(id string, n int) string { return fmt.Sprintf(".fettle-set-%s-%d", id, n) }

// lock takes the lock of the recovery directory. Without such locks on the file system, held is false,
// and those of the files' directories separate a set from a recovery.
func (s *Service) lock(ctx context.Context) (unlock func(), held bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err = lockedfile.Lock(ctx, filepath.Join(s.dir, setsLock))
	if errors.Is(err, errors.ErrUnsupported) {
		return func() {}, false, nil
	}
	return unlock, err == nil, err
}

// announce writes a journal and flushes it.
func (s *Service) announce(id string, r record) (*journal, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	j := &journal{s.dir, id, partial}
	f, err := os.OpenFile(j.path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, lockedfile.FileMode)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(append(data, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = j.mark(announced)
	}
	if err != nil {
		return nil, errors.Join(err, j.remove())
	}
	return j, nil
}

// mark changes the state of the set. If only flushing the new name fails, the journal has it.
func (j *journal) mark(state string) error {
	before := j.path()
	if err := os.Rename(before, filepath.Join(j.dir, j.id+state)); err != nil {
		return err
	}
	j.state = state
	return flushDir(j.dir)
}

// remove removes the journal.
func (j *journal) remove() error {
	if err := os.Remove(j.path()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func flushDir(name string) error {
	if runtime.GOOS == "windows" {
		return nil // it cannot flush directories
	}
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// journals returns the journals in the directory, also those that are being written. It changes
// nothing, because without the lock they can belong to a set in progress.
func (s *Service) journals() ([]*journal, error) {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var found []*journal
	for _, name := range names {
		for _, state := range []string{announced, exchanging, complete, partial} {
			if id, ok := strings.CutSuffix(name.Name(), state); ok {
				found = append(found, &journal{s.dir, id, state})
			}
		}
	}
	return found, nil
}

// read reads the journal of a set.
func (j *journal) read() (record, error) {
	var r record
	data, err := os.ReadFile(j.path())
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%s is damaged: %w", j.path(), err)
	}
	if r.Version != version {
		return r, fmt.Errorf("%s is not a journal of a supported version", j.path())
	}
	for i, e := range r.Files {
		if !filepath.IsAbs(e.Dir) || filepath.Base(e.Name) != e.Name || e.Temp != tempName(j.id, i) || e.Old == "" && e.New == "" {
			return r, fmt.Errorf("%s is damaged: it does not describe a change of a file", j.path())
		}
	}
	return r, nil
}

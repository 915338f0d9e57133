package extensions

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// stagingFolder holds, in the extensions directory, what is not installed yet, a
// directory for each installation that is under way. Its name is that of no extension.
const stagingFolder = ".staging"

// Names in the directory of an installation.
const (
	stagedLock   = "lock"   // held as long as the installation is under way
	stagedSource = "source" // what was fetched
	stagedNew    = "new"    // what becomes the extension
	stagedOld    = "old"    // what it takes the place of
	stagedName   = "name"   // file: the extension's name, once anything is said of it elsewhere
	stagedID     = "id"     // file: the extension's id, once secrets may have been kept
)

// sweepWait is how long the lock of another installation is tried to be had: one
// that is free is had at once.
const sweepWait = 20 * time.Millisecond

// staging is the directory of one installation.
type staging struct {
	dir     string
	release func()
}

func (g *staging) path(name string) string { return filepath.Join(g.dir, name) }

// note writes a small file into the directory.
func (g *staging) note(name, text string) error {
	if err := os.WriteFile(g.path(name), []byte(text), 0o600); err != nil {
		return unwritable(g.path(name), err)
	}
	return nil
}

// end removes the directory with all that is in it. What cannot be removed is left
// to the next installation.
func (g *staging) end() {
	g.release()
	_ = removeAll(g.dir)
}

// stage begins an installation: it makes a directory for it, and removes those of
// installations that were killed.
func (s *Store) stage(ctx context.Context) (*staging, error) {
	if s.o.Dir == "" {
		return nil, fault.New(fault.InvalidConfig, "extensions.install", "There is no directory for extensions, as the home directory is not known.", "Set HOME.")
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	top := filepath.Join(s.o.Dir, stagingFolder)
	s.sweep(ctx, top)
	if err := os.MkdirAll(top, 0o700); err != nil {
		return nil, unwritable(top, err)
	}
	dir, err := os.MkdirTemp(top, "")
	if err != nil {
		return nil, unwritable(top, err)
	}
	release, err := lockedfile.Lock(ctx, filepath.Join(dir, stagedLock))
	if err != nil {
		_ = os.RemoveAll(dir) // the next installation does, if this fails
		return nil, lockFailure(ctx, dir, err)
	}
	return &staging{dir, release}, nil
}

// lock is for changes of which extensions there are. It is held while files are
// moved, and not while they are fetched or somebody is asked.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = lockedfile.LockOf(ctx, filepath.Join(s.o.Dir, ".install"))
	if err != nil {
		return nil, lockFailure(ctx, s.o.Dir, err)
	}
	return unlock, nil
}

// sweep removes what killed installations have left, and puts a version back that
// was moved away for one that never came. The caller has the lock. What
// fails is tried again by the next.
func (s *Store) sweep(ctx context.Context, top string) {
	entries, err := os.ReadDir(top)
	if err != nil {
		return // most often there is none
	}
	for _, entry := range entries {
		g := &staging{dir: filepath.Join(top, entry.Name())}
		wait, stop := context.WithTimeout(ctx, sweepWait)
		g.release, err = lockedfile.Lock(wait, g.path(stagedLock))
		stop()
		if err != nil {
			continue // it is under way, or nothing that we have made
		}
		s.undo(ctx, g)
		g.end()
	}
}

// undo takes back what a killed installation has done outside of its directory. A
// version that was moved away for one that never came is put back.
func (s *Store) undo(ctx context.Context, g *staging) {
	if name, err := os.ReadFile(g.path(stagedName)); err == nil && CheckName(string(name)) == "" {
		place := filepath.Join(s.o.Dir, string(name))
		if _, err := os.Lstat(place); errors.Is(err, fs.ErrNotExist) {
			err = os.Rename(g.path(stagedOld), place)
			if err != nil { // there is none: it was new
				_ = s.ForgetEnablement(ctx, string(name))
				_ = s.setRecord(ctx, string(name), nil)
			}
		}
	}
	if id, err := os.ReadFile(g.path(stagedID)); err == nil && !s.hasID(string(id)) {
		_ = s.ForgetSettings(ctx, string(id))
	}
}

// hasID reports whether an extension of that id is installed.
func (s *Store) hasID(id string) bool {
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil {
		return true // nothing is forgotten that is not known to be rubbish
	}
	for _, entry := range entries {
		if CheckName(entry.Name()) != "" {
			continue
		}
		m, err := ReadInstall(filepath.Join(s.o.Dir, entry.Name()))
		if err != nil || IDOf(entry.Name(), m) == id {
			return true
		}
	}
	return false
}

// removeAll is os.RemoveAll for directories that may not be written to as well.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error { // the second try tells what cannot be removed
		if err == nil && entry.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

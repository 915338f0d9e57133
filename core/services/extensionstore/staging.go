package extensionstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// stagingDir is the directory in the extensions directory with one subdirectory for
// each installation in progress. No extension can have its name.
const stagingDir = ".staging"

// Names in a staging directory.
const (
	stagedLock   = "lock"   // locked during the installation
	stagedSource = "source" // the fetched files
	stagedNew    = "new"    // the new extension
	stagedOld    = "old"    // the version that it replaces
	stagedName   = "name"   // file: the extension's name, before records exist elsewhere
	stagedID     = "id"     // file: the extension's id, before secrets may be stored
)

// staging is the directory of one installation.
type staging struct {
	dir     string
	release func()
}

func (g *staging) path(name string) string { return filepath.Join(g.dir, name) }

// note writes a small file to the directory.
func (g *staging) note(name, text string) error {
	if err := os.WriteFile(g.path(name), []byte(text), 0o600); err != nil {
		return unwritable(g.path(name), err)
	}
	return nil
}

// end removes the directory and its content. The next installation removes the rest.
func (g *staging) end() {
	g.release()
	_ = removeAll(g.dir)
}

// stage starts an installation: it creates its directory, and removes those of killed
// installations.
func (s *Store) stage(ctx context.Context) (*staging, error) {
	if s.o.Dir == "" {
		return nil, fault.New(fault.InvalidConfig, "extensions.install", "There is no directory for extensions, because the home directory is unknown.", "Set HOME.")
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	top := filepath.Join(s.o.Dir, stagingDir)
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

// lock is held while the set of extensions changes: during moves of files, but not
// during a fetch or while waiting for approval.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = lockedfile.LockOf(ctx, filepath.Join(s.o.Dir, ".install"))
	if err != nil {
		return nil, lockFailure(ctx, s.o.Dir, err)
	}
	return unlock, nil
}

// sweep removes the directories of killed installations, and restores a version that was
// moved away for an unfinished update. The caller has the lock. The next installation
// retries failures.
func (s *Store) sweep(ctx context.Context, top string) {
	entries, err := os.ReadDir(top)
	if err != nil {
		return // the common case
	}
	for _, entry := range entries {
		g := &staging{dir: filepath.Join(top, entry.Name())}
		if g.release, err = lockedfile.LockIfFree(g.path(stagedLock)); err != nil {
			continue // it is in progress, or not created by fettle
		}
		s.undo(ctx, g)
		g.end()
	}
}

// undo removes the records of a killed installation outside of its directory. A version
// that was moved away for an unfinished update is restored.
func (s *Store) undo(ctx context.Context, g *staging) {
	if name, err := os.ReadFile(g.path(stagedName)); err == nil && checkName(string(name)) == "" {
		place := filepath.Join(s.o.Dir, string(name))
		if _, err := os.Lstat(place); errors.Is(err, fs.ErrNotExist) {
			err = os.Rename(g.path(stagedOld), place)
			if err != nil { // none: it was a new installation
				_ = s.forgetEnablement(ctx, string(name))
				_ = s.setRecord(ctx, string(name), nil)
			}
		}
	}
	if id, err := os.ReadFile(g.path(stagedID)); err == nil && !s.hasID(string(id)) {
		_ = s.forgetSettings(ctx, string(id))
	}
}

// hasID reports whether an extension with that id is installed.
func (s *Store) hasID(id string) bool {
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil {
		return true // in doubt nothing is removed
	}
	for _, entry := range entries {
		if checkName(entry.Name()) != "" {
			continue
		}
		m, err := readInstall(filepath.Join(s.o.Dir, entry.Name()))
		if err != nil || idOf(entry.Name(), m) == id {
			return true
		}
	}
	return false
}

// removeAll is os.RemoveAll that also removes directories without write permission.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error { // the second attempt returns the error
		if err == nil && entry.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

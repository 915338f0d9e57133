package fork

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Summary describes a fork in a list.
type Summary struct {
	Info
	Age   time.Duration `json:"-"`
	Size  int64         `json:"size"`  // bytes of the changed files and of the bases
	Files int           `json:"files"` // changed, added and removed files; all files in mode Copy
	InUse bool          `json:"inUse"` // a process has it open
}

// List returns the forks, oldest first. It removes what killed processes have left. Without the
// directory, or if it cannot be read, there are none. The error is that of ctx (cancelled).
func (s *Store) List(ctx context.Context) ([]Summary, error) {
	s.clean()
	all := []Summary{}
	for _, info := range s.infos() {
		f := &Fork{Info: info, store: s, dir: filepath.Join(s.o.Dir, info.ID)}
		sum := Summary{Info: info, Age: s.o.Now().Sub(info.Created), InUse: inUse(f.dir)}
		for n := range f.Dirs {
			size, files := usage(ctx, f.upper(n))
			sum.Size += size
			sum.Files += files
		}
		size, _ := usage(ctx, filepath.Join(f.dir, baseDir))
		sum.Size += size
		if err := ctx.Err(); err != nil {
			return nil, fault.WasCancelled("fork.list", err)
		}
		all = append(all, sum)
	}
	return all, nil
}

// usage returns the bytes and the number of the files below a directory.
func usage(ctx context.Context, dir string) (size int64, files int) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // a file that cannot be read is not counted
		}
		files++
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size, files
}

func inUse(dir string) bool {
	unlock, err := tryLock(filepath.Join(dir, forkLock))
	if err != nil {
		return errors.Is(err, lockedfile.ErrBusy)
	}
	unlock()
	return false
}

// tryLock locks a file that exists.
func tryLock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) || isReadOnly(err) {
		f, err = os.Open(path)
	}
	if err != nil {
		return nil, err
	}
	if err := lockedfile.TryLock(f); err != nil {
		_ = f.Close() // the other error is returned
		return nil, err
	}
	return func() { _ = f.Close() }, nil // which releases the lock
}

// clean removes forks that killed processes were creating or removing.
func (s *Store) clean() {
	entries, _ := os.ReadDir(s.o.Dir) // none: there is nothing to remove
	for _, e := range entries {
		dir := filepath.Join(s.o.Dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), dropPrefix):
			_ = removeTree(dir) // the next call tries again
		case strings.HasPrefix(e.Name(), newPrefix):
			unlock, err := tryLock(filepath.Join(dir, forkLock))
			if errors.Is(err, fs.ErrNotExist) {
				info, failed := e.Info() // its process is about to create the lock, or was killed before
				if failed != nil || time.Since(info.ModTime()) < time.Minute {
					continue
				}
				unlock, err = func() {}, nil
			}
			if err == nil {
				_ = removeTree(dir)
				unlock()
			}
		}
	}
}

// Drop removes the fork with that name or ID. Without force it is refused if a change would be lost,
// with code restore_refused. The other errors are those of [Store.Open] and [Fork.Compare].
func (s *Store) Drop(ctx context.Context, name string, force bool) error {
	f, err := s.find("drop", name)
	if err != nil {
		return err
	}
	if err := f.take(); err != nil {
		return err
	}
	defer f.Close()
	if !force {
		if err := f.merged(ctx); err != nil {
			return err
		}
	}
	return f.drop(ctx)
}

// drop removes a fork that is locked. Temporary names make it disappear at once.
func (f *Fork) drop(ctx context.Context) error {
	gone := filepath.Join(f.store.o.Dir, dropPrefix+f.ID)
	if err := f.bases.close(); err != nil {
		return writeFailure(ctx, "drop", "The fork could not be removed", err)
	}
	if isWindows { // it renames no directory with an open file
		f.unlock()
		f.unlock = nil
	}
	err := os.Rename(f.dir, gone)
	if err == nil {
		err = f.store.at(StepDetached)
	}
	if err == nil {
		err = removeTree(gone)
	}
	if err == nil {
		err = f.store.at(StepDropped)
	}
	if err != nil {
		return writeFailure(ctx, "drop", "The fork could not be removed completely", err)
	}
	return nil
}

// removeTree removes a directory, also if its directories are not writable: overlayfs creates one
// without permissions.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // of a directory that is removed
		}
		return nil //nolint:nilerr // RemoveAll reports it
	})
	return os.RemoveAll(dir)
}

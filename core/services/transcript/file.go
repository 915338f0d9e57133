package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Modes of what is made.
const (
	fileMode   fs.FileMode = 0o600
	folderMode fs.FileMode = 0o700
)

// makeDir makes the directory, and makes it private where it is not.
func (s *Store) makeDir() error {
	if err := os.MkdirAll(s.o.Dir, folderMode); err != nil {
		return err
	}
	info, err := os.Stat(s.o.Dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&^folderMode != 0 {
		return os.Chmod(s.o.Dir, folderMode)
	}
	return nil
}

// open opens a recording with these flags besides. What is no regular file is
// refused without waiting for anybody, and so is what lies at the end of a link.
func (s *Store) open(path string, flags int) (*os.File, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.OpenFile(path, flags|openSafely, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err == nil && info.Size() > s.o.MaxBytes {
		err = fmt.Errorf("it has %d bytes, more than the limit of %d", info.Size(), s.o.MaxBytes)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// lockFile takes the lock of a session whose file is open. The error is of code
// session_unreadable where another process has it.
func lockFile(f *os.File, id string) error {
	err := lockedfile.TryLock(f)
	switch {
	case errors.Is(err, lockedfile.ErrBusy):
		return fault.Wrap(fault.SessionUnreadable, "transcript.lock", fmt.Sprintf("The session %s is in use by another process.", id),
			"End that one first, or work in another session.", err)
	case err != nil:
		return unreadable(f.Name(), err)
	}
	// Whoever had the lock before may have removed the file.
	mine, err := f.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = os.Lstat(f.Name()); err == nil && !os.SameFile(mine, there) {
			err = fs.ErrNotExist
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return notFound(id)
	}
	if err != nil {
		return unreadable(f.Name(), err)
	}
	return nil
}

// closeLocked gives the lock of a file back and closes it.
func closeLocked(f *os.File) error {
	lockedfile.Unlock(f)
	return f.Close()
}

func unreadable(path string, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.SessionUnreadable, "transcript.read", fmt.Sprintf("The recording %s cannot be read: %s.", filepath.Base(path), cause(err)),
		"Make it readable, or move it away from "+filepath.Dir(path)+".", err)
}

func unwritten(path string, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.SessionUnreadable, "transcript.write",
		fmt.Sprintf("The recording %s cannot be written: %s. What follows is not recorded.", filepath.Base(path), cause(err)),
		"Make sure that you may write to "+filepath.Dir(path)+" and that the disk has room; then begin a new session.", err)
}

func notFound(ref string) *fault.Error {
	return fault.New(fault.SessionNotFound, "transcript.find", fmt.Sprintf("There is no recorded session %.*q.", maxID, ref),
		"List the sessions with fettle sessions list.")
}

// cause returns an error's text without the path, which the sentence names.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

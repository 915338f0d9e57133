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

// File modes of new files and directories.
const (
	fileMode fs.FileMode = 0o600
	dirMode  fs.FileMode = 0o700
)

// makeDir creates the directory, or makes an existing one private.
func (s *Store) makeDir() error {
	if err := os.MkdirAll(s.o.Dir, dirMode); err != nil {
		return err
	}
	info, err := os.Stat(s.o.Dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&^dirMode != 0 {
		return os.Chmod(s.o.Dir, dirMode)
	}
	return nil
}

// open opens a recording with additional flags. It refuses symbolic links and other files that are
// not regular, and never waits for a pipe.
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

// lockFile locks the open file of a session. The error has code session_unreadable if another
// process holds the lock.
func lockFile(f *os.File, id string) error {
	err := lockedfile.TryLock(f)
	switch {
	case errors.Is(err, lockedfile.ErrBusy):
		return fault.Wrap(fault.SessionUnreadable, "transcript.lock", fmt.Sprintf("The session %s is in use by another process.", id),
			"End that process first, or work in another session.", err)
	case err != nil:
		return readError(f.Name(), err)
	}
	// The previous holder of the lock may have removed the file.
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
		return readError(f.Name(), err)
	}
	return nil
}

// closeLocked unlocks and closes a file.
func closeLocked(f *os.File) error {
	lockedfile.Unlock(f)
	return f.Close()
}

func readError(path string, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.SessionUnreadable, "transcript.read", fmt.Sprintf("The recording %s cannot be read: %s.", filepath.Base(path), cause(err)),
		"Make it readable, or move it away from "+filepath.Dir(path)+".", err)
}

func writeError(path string, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.SessionUnreadable, "transcript.write",
		fmt.Sprintf("The recording %s cannot be written: %s. The session is no longer recorded.", filepath.Base(path), cause(err)),
		"Make sure that you have write permission for "+filepath.Dir(path)+" and that the disk has free space; then begin a new session.", err)
}

func notFound(ref string) *fault.Error {
	return fault.New(fault.SessionNotFound, "transcript.find", fmt.Sprintf("There is no recorded session %.*q.", maxID, ref),
		"List the sessions with fettle sessions list.")
}

// cause returns the text of an error without the path, which the message names.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

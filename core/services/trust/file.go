package trust

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// maxBytes caps the file: beyond it, it is not ours.
const maxBytes = 1 << 20

// Modes of what is made.
const (
	fileMode   fs.FileMode = 0o600
	folderMode fs.FileMode = 0o700
)

// empty is what a missing file stands for.
const empty = "{}\n"

// read returns the text of the file.
func (s *Store) read() ([]byte, error) {
	info, err := os.Stat(s.path) // before it is opened: a pipe would keep us waiting
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []byte(empty), nil
	case err != nil:
		return nil, s.unreadable(err)
	case !info.Mode().IsRegular():
		return nil, s.unreadable(errors.New("it is not a regular file"))
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, s.unreadable(err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, s.unreadable(err)
	}
	if len(data) > maxBytes {
		return nil, malformed(s.path, 0, fmt.Sprintf("it is larger than %d bytes", maxBytes), nil)
	}
	return data, nil
}

// missing reports whether there is no file.
func (s *Store) missing() bool {
	_, err := os.Stat(s.path)
	return errors.Is(err, fs.ErrNotExist)
}

// update replaces the text of the file by what change makes of it, while no
// other process does.
func (s *Store) update(ctx context.Context, change func([]byte) ([]byte, error)) error {
	path, err := s.target()
	if err != nil {
		return s.unwritten(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return s.unwritten(err)
	}
	unlock, err := lock(ctx, path+".lock")
	if err != nil {
		if ctx.Err() != nil {
			return cancelled(ctx)
		}
		return s.unwritten(err)
	}
	defer unlock()
	old, err := s.read()
	if err != nil {
		return err
	}
	text, err := change(old)
	if err != nil {
		return err
	}
	if len(text) > maxBytes {
		return s.unwritten(fmt.Errorf("it would be larger than %d bytes", maxBytes))
	}
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	if err := replace(path, text); err != nil {
		return s.unwritten(err)
	}
	return nil
}

// target returns the path of the file itself, if a link leads to it.
func (s *Store) target() (string, error) {
	path, err := filepath.Abs(s.path)
	if err != nil {
		return "", err
	}
	return workspace.RealPath(path)
}

// replace puts text in the place of the file at path in one step. The caller
// has the lock, so what a killed process left under the temporary name is
// rubbish.
func replace(path string, text []byte) (err error) {
	temp := path + ".tmp"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp) // the next one does, if this fails
		}
	}()
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	return err
}

// errBusy is returned by tryLock while another one has the lock.
var errBusy = errors.New("locked by another process")

// Pauses between two tries to get the lock.
const (
	firstPause = time.Millisecond
	longPause  = 20 * time.Millisecond
)

// lock takes the lock that every Set takes, and waits for it until ctx ends.
// The lock file stays: who removed it could remove another's.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := ctx.Err()
		if err == nil {
			err = tryLock(f)
		}
		if err == nil {
			return func() { _ = f.Close() }, nil // which gives the lock back
		}
		if !errors.Is(err, errBusy) {
			_ = f.Close() // the other error is the one to tell
			return nil, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (s *Store) unreadable(err error) error {
	return fault.Wrap(fault.InvalidConfig, "trust.read", fmt.Sprintf("The file of trusted folders %s cannot be read: %s.", s.path, cause(err)),
		"Make it readable, or move it away.", err)
}

func (s *Store) unwritten(err error) error {
	return fault.Wrap(fault.FileWriteFailure, "trust.write", fmt.Sprintf("Nothing was recorded: the file of trusted folders %s cannot be written: %s.", s.path, cause(err)),
		"Make sure that you may write to its folder and that the disk has room.", err)
}

// cause returns an error's text without the path, which the sentence names.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

func cancelled(ctx context.Context) error {
	return fault.Wrap(fault.Cancelled, "trust", "The file of trusted folders was left as it is, as the call was cancelled.", "", ctx.Err())
}

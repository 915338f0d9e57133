// Package lockedfile reads small files of the user's, and replaces them in one
// step, under a lock that calls of this and of other processes share.
package lockedfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Modes of what is made: such files are their owner's alone.
const (
	FileMode   fs.FileMode = 0o600
	FolderMode fs.FileMode = 0o700
)

// ErrBusy is returned by [TryLock] while another process has the lock.
var ErrBusy = errors.New("locked by another process")

// Pauses between two tries to get the lock.
const (
	firstPause = time.Millisecond
	longPause  = 20 * time.Millisecond
)

// Lock takes the lock that the file at path stands for, which is made where it
// is missing, and waits for it until ctx ends. A second Lock of the same process
// waits too; a process that ends has the lock no more. The lock file stays: who
// removed it could remove another's.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, FileMode)
	if err != nil {
		return nil, err
	}
	return wait(ctx, f)
}

// wait takes the lock of an open file, which it closes if that fails.
func wait(ctx context.Context, f *os.File) (unlock func(), err error) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := ctx.Err()
		if err == nil {
			err = TryLock(f)
		}
		if err == nil {
			return func() { _ = f.Close() }, nil // which gives the lock back
		}
		if !errors.Is(err, ErrBusy) {
			_ = f.Close() // the other error is the one to tell
			return nil, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// LockOf takes the lock of the file at path, the file beside it with .lock behind
// its name, see [Lock]. The directory of the two is made where it is missing.
func LockOf(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), FolderMode); err != nil {
		return nil, err
	}
	return Lock(ctx, path+".lock")
}

// Replace puts text in the place of the file at path in one step, durably, with
// mode 0600. The caller has the lock, so what a killed process left under the
// temporary name is rubbish.
func Replace(path string, text []byte) (err error) {
	temp := path + ".tmp"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, FileMode)
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

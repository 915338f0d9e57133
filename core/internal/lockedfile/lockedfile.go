// Package lockedfile reads small files of the user, and replaces them atomically under a
// lock that concurrent calls and processes share.
package lockedfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Modes of new files and directories: only the owner has access.
const (
	FileMode fs.FileMode = 0o600
	DirMode  fs.FileMode = 0o700
)

// ErrBusy is returned by [TryLock] and [LockIfFree] while another holder has the lock.
var ErrBusy = errors.New("locked by another process")

// Pauses between two attempts to lock.
const (
	firstPause = time.Millisecond
	longPause  = 20 * time.Millisecond
)

// Lock locks the file at path, which is created if it is missing, and waits until ctx
// ends. It tries once even if the deadline of ctx has passed, as it may have while a
// busy disk opened the file. A second Lock in the same process waits too. The lock
// ends with the process. The lock file stays, because removing it could remove the
// lock of another process.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, FileMode)
	if err != nil {
		return nil, err
	}
	return wait(ctx, f)
}

// LockIfFree is [Lock] without waiting: the error is [ErrBusy] while the lock is taken.
func LockIfFree(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, FileMode)
	if err != nil {
		return nil, err
	}
	if err := TryLock(f); err != nil {
		_ = f.Close() // the other error is returned
		return nil, err
	}
	return func() { _ = f.Close() }, nil // which releases the lock
}

// wait locks an open file, and closes it on failure.
func wait(ctx context.Context, f *os.File) (unlock func(), err error) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		ended := ctx.Err()
		err := ended
		if !errors.Is(ended, context.Canceled) {
			err = TryLock(f)
		}
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil // which releases the lock
		case ended != nil:
			err = ended
		case errors.Is(err, ErrBusy):
			err = nil
		}
		if err != nil {
			_ = f.Close() // the other error is returned
			return nil, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// LockOf locks the file at path through the lock file path.lock, see [Lock]. Their
// directory is created if it is missing.
func LockOf(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), DirMode); err != nil {
		return nil, err
	}
	return Lock(ctx, path+".lock")
}

// Replace replaces the file at path atomically and durably, with mode 0600. The caller
// has the lock, so a file with the temporary name is left from a killed process.
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
			_ = os.Remove(temp) // the next call does, if this fails
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

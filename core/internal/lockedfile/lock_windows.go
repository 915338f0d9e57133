package lockedfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/windows"
)

// TryLock locks an open file. The lock ends with the descriptor. It covers one byte far
// behind the content, because a locked byte cannot be read. The error is [ErrBusy] while
// another process has the lock.
func TryLock(f *os.File) error {
	beyond := windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &beyond)
	runtime.KeepAlive(f)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrBusy
	}
	return err
}

// Unlock does nothing: closing the file releases the lock, because no child has its
// handle.
func Unlock(*os.File) {}

// lockDirectory locks a directory through a lock file in it, which stays there.
func lockDirectory(ctx context.Context, dir string) (unlock func(), err error) {
	return Lock(ctx, filepath.Join(dir, ".fettle.lock"))
}

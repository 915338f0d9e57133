package lockedfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/windows"
)

// TryLock takes the lock of an open file, which ends with the descriptor. It is of
// a byte far behind any that is written, as a locked byte cannot be read. The error
// is [ErrBusy] while another process has it.
func TryLock(f *os.File) error {
	beyond := windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &beyond)
	runtime.KeepAlive(f)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrBusy
	}
	return err
}

// Unlock leaves it to the closing of the file, whose handle no child has.
func Unlock(*os.File) {}

// lockDirectory takes the lock of a directory by a file in it, which stays there.
func lockDirectory(ctx context.Context, dir string) (unlock func(), err error) {
	return Lock(ctx, filepath.Join(dir, ".fettle.lock"))
}

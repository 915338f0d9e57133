package lockedfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/windows"
)

func tryLock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	runtime.KeepAlive(f)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errBusy
	}
	return err
}

// lockDirectory takes the lock of a directory by a file in it, which stays there.
func lockDirectory(ctx context.Context, dir string) (unlock func(), err error) {
	return Lock(ctx, filepath.Join(dir, ".fettle.lock"))
}

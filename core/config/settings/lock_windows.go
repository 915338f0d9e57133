package settings

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// tryLock locks a file in the folder, which stays there. A process that ends
// has the lock no more.
func tryLock(folder string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(folder, ".settings.lock"), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	switch {
	case err == nil:
		return func() { _ = file.Close() }, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		err = errBusy
	}
	return nil, errors.Join(err, file.Close())
}

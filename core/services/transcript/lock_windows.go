package transcript

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/windows"
)

const openSafely = 0

// removesOpen says that a file can be removed while it is open.
const removesOpen = false

// tryLock takes the lock of a session, which ends with the descriptor. It is of
// a byte far behind any that is written, as a locked byte cannot be read.
func tryLock(f *os.File) error {
	beyond := windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &beyond)
	runtime.KeepAlive(f)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errBusy
	}
	return err
}

// unlock leaves it to the closing of the file, whose handle no child has.
func unlock(*os.File) {}

// syncDir does nothing: names are durable with the file.
func syncDir(string) error { return nil }

// truncate cuts a file that is open for appending, which its handle may not.
func truncate(f *os.File, size int64) error { return os.Truncate(f.Name(), size) }

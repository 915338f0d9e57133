//go:build unix

package transcript

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// openSafely are flags that neither follow a link nor wait for a pipe.
const openSafely = unix.O_NOFOLLOW | unix.O_NONBLOCK

// removesOpen says that a file can be removed while it is open.
const removesOpen = true

// tryLock takes the lock of a session, which ends with the descriptor, however
// the process ends.
func tryLock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		runtime.KeepAlive(f)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errBusy
		default:
			return err
		}
	}
}

// unlock gives the lock back. Closing the file does that only once no child has
// its descriptor, which one that is being started has until it runs its program.
func unlock(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	runtime.KeepAlive(f)
}

// syncDir makes the names in a folder durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	_ = d.Close() // nothing was written
	return err
}

// truncate cuts a file that is open for appending.
func truncate(f *os.File, size int64) error { return f.Truncate(size) }

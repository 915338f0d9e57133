//go:build unix

package lockedfile

import (
	"context"
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// TryLock takes the lock of an open file, which ends with the descriptor, however the
// process ends. The error is [ErrBusy] while another process has it.
func TryLock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		runtime.KeepAlive(f)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrBusy
		default:
			return err
		}
	}
}

// Unlock gives the lock back. Closing the file does that only once no child has
// its descriptor, which one that is being started has until it runs its program.
func Unlock(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	runtime.KeepAlive(f)
}

// lockDirectory takes the lock of a directory itself, so that no file is left
// behind. On file systems without such locks it locks nothing; what another
// process saves is noticed all the same.
func lockDirectory(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if unlock, err = wait(ctx, f); errors.Is(err, errors.ErrUnsupported) {
		return func() {}, nil
	}
	return unlock, err
}

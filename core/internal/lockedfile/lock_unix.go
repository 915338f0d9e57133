//go:build unix

package lockedfile

import (
	"context"
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// TryLock locks an open file. The lock ends with the descriptor, however the process
// ends. The error is [ErrBusy] while another process has the lock.
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

// Unlock releases the lock. Closing the file is not enough while a child process has its
// descriptor; a child that is being started has it until it runs its program.
func Unlock(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	runtime.KeepAlive(f)
}

// lockDirectory locks a directory itself, so that no lock file is left. On file systems
// without such locks it does nothing; changes by other processes are detected all the
// same.
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

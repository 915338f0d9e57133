//go:build unix

package settings

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

func tryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	runtime.KeepAlive(f)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.EINTR):
		return errBusy
	case errors.Is(err, errors.ErrUnsupported):
		return nil // what another process saves is noticed all the same
	}
	return err
}

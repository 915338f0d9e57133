//go:build unix

package settings

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes an flock on the folder itself, so that no file is left behind
// and a process that ends has it no more. Where there are no such locks it
// locks nothing; what another process saves is noticed all the same.
func tryLock(folder string) (unlock func(), err error) {
	dir, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case err == nil, errors.Is(err, errors.ErrUnsupported):
		return func() { _ = dir.Close() }, nil
	case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.EINTR):
		err = errBusy
	}
	return nil, errors.Join(err, dir.Close())
}

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package rulefile

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes an flock on the folder itself, so that no file is left behind
// and a process that ends has it no more. On file systems without such locks
// it locks nothing.
func tryLock(folder string) (unlock func(), err error) {
	dir, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	switch {
	case err == nil, errors.Is(err, errors.ErrUnsupported):
		return func() { _ = dir.Close() }, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = errBusy
	}
	return nil, errors.Join(err, dir.Close())
}

//go:build unix

package process

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// hold locks a directory of this user for this process, until the file is closed or the process
// ends. The lock is an flock on the directory itself, which commands that write in it cannot
// remove. locked is false if the file system has no such locks. hold returns [errHeld] if another
// process holds the directory.
func hold(dir string) (held *os.File, locked bool, err error) {
	f, err := os.OpenFile(dir, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, false, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	locked = err == nil
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		err = errHeld
	} else {
		err = stillOurs(f)
	}
	if err != nil {
		_ = f.Close()
		return nil, false, err
	}
	return f, locked, nil
}

// stillOurs returns an error for a directory of another user, and for one that was renamed or
// removed.
func stillOurs(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Geteuid() {
		return fs.ErrPermission
	}
	now, err := os.Lstat(f.Name())
	if err == nil && !os.SameFile(info, now) {
		err = fs.ErrNotExist
	}
	return err
}

package memtemp

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

const (
	memory  = "/dev/shm"
	pattern = "fettle-*.test"
	space   = 2 << 30 // bytes that must be free
)

// suitable reports whether dir is on a tmpfs that has enough space and allows
// programs to run.
func suitable(dir string) bool {
	const tmpfs, noexec = 0x01021994, 0x8
	var fs syscall.Statfs_t
	err := syscall.Statfs(dir, &fs)
	return err == nil && fs.Type == tmpfs && fs.Flags&noexec == 0 && fs.Bavail*uint64(fs.Bsize) >= space
}

// create makes a directory in base that any user may write to, as /tmp, and that
// belongs to this process: it holds a lock on it, which ends with the process. create
// removes the directories of the same user whose process has ended. remove deletes the
// directory.
func create(base string) (dir string, remove func(), err error) {
	all, err := lock(base, syscall.LOCK_EX) // so that nobody removes what is not locked yet
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	left, err := filepath.Glob(filepath.Join(base, pattern))
	if err != nil {
		return "", nil, err
	}
	for _, old := range left {
		if held, err := lock(old, syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			_ = os.RemoveAll(old) // of another user, or not empty: it stays
			_ = held.Close()
		}
	}
	if dir, err = os.MkdirTemp(base, pattern); err != nil {
		return "", nil, err
	}
	held, err := lock(dir, syscall.LOCK_EX)
	if err == nil {
		err = os.Chmod(dir, 0o777|os.ModeSticky)
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() { _, _ = os.RemoveAll(dir), held.Close() }, nil
}

// lock locks a directory until the returned file is closed.
func lock(dir string, how int) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

//go:build linux || darwin

package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// replacesOpenFiles: a file can lose its name while it is open.
const replacesOpenFiles = true

// kernel is the real system.
type kernel struct{}

// unsupported marks an error as errors.ErrUnsupported.
func unsupported(err error) error {
	return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
}

// nameError puts operation and name before a system call's error.
func nameError(operation, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: operation, Path: name, Err: err}
}

// retry repeats a system call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func openAt(dir *os.File, name string, flags int, perm uint32) (*os.File, error) {
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Openat(int(dir.Fd()), name, flags|unix.O_CLOEXEC, perm)
		return err
	})
	runtime.KeepAlive(dir)
	if err != nil {
		return nil, nameError("open", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (kernel) openDir(dir *os.File) (*os.File, error) {
	return openAt(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

func (kernel) tryLock(f *os.File) error {
	err := retry(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	runtime.KeepAlive(f)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return errBusy
	default: // NFS and others have no flock on directories, each with a different error
		return unsupported(err)
	}
}

func (kernel) unlock(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // closing does it too, unless a child has the descriptor
	runtime.KeepAlive(f)
}

func (kernel) list(dir *os.File, n int) ([]string, error) { return dir.Readdirnames(n) }

func (kernel) look(dir *os.File, name string) (entry, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	runtime.KeepAlive(dir)
	if err != nil {
		return entry{}, nameError("stat", name, err)
	}
	mode := fs.FileMode(st.Mode & 0o777)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFBLK, unix.S_IFCHR:
		mode |= fs.ModeDevice
	default:
		mode |= fs.ModeIrregular
	}
	return entry{mode: mode, dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mtimeNS: st.Mtim.Nano(), ctimeNS: st.Ctim.Nano(),
		whiteout: st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0}, nil
}

func (kernel) openRead(dir *os.File, name string) (*os.File, error) {
	return openNow(dir, name, unix.O_RDONLY)
}

func (kernel) openWrite(dir *os.File, name string) (*os.File, error) {
	return openNow(dir, name, unix.O_RDWR)
}

func openNow(dir *os.File, name string, flags int) (*os.File, error) {
	f, err := openAt(dir, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errBusy
	}
	return f, err
}

func (kernel) mayReplace(dir *os.File, name string) error {
	if isMountRoot(dir, name) {
		return errMounted
	}
	var st unix.Stat_t
	err := unix.Faccessat(int(dir.Fd()), ".", unix.W_OK, unix.AT_EACCESS)
	if err == nil {
		err = unix.Fstat(int(dir.Fd()), &st)
	}
	runtime.KeepAlive(dir)
	switch {
	case errors.Is(err, fs.ErrPermission) || isReadOnly(err):
		return errDirectory.withCause(err)
	case err != nil || st.Mode&unix.S_ISVTX == 0 || os.Geteuid() == int(st.Uid) || ownsAll():
		return nil // other obstacles are found when it is tried
	}
	err = unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	runtime.KeepAlive(dir)
	if err == nil && os.Geteuid() != int(st.Uid) {
		return errDirectory
	}
	return nil
}

func (kernel) createNamed(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	return openAt(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW, uint32(perm.Perm()))
}

func (kernel) writeAt(f *os.File, data []byte, offset int64) error {
	_, err := f.WriteAt(data, offset)
	return err
}

func (kernel) truncate(f *os.File, size int64) error { return f.Truncate(size) }

func (kernel) sync(f *os.File) error { return f.Sync() }

func (kernel) link(dir *os.File, from, to string) error {
	err := retry(func() error { return unix.Linkat(int(dir.Fd()), from, int(dir.Fd()), to, 0) })
	runtime.KeepAlive(dir)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EMLINK) || errors.Is(err, unix.EXDEV) {
		return unsupported(err)
	}
	return nameError("link", from, err)
}

func (kernel) rename(dir *os.File, from, to string) error {
	err := retry(func() error { return unix.Renameat(int(dir.Fd()), from, int(dir.Fd()), to) })
	runtime.KeepAlive(dir)
	return nameError("rename", from, err)
}

func (kernel) remove(dir *os.File, name string) error {
	err := retry(func() error { return unix.Unlinkat(int(dir.Fd()), name, 0) })
	runtime.KeepAlive(dir)
	return nameError("remove", name, err)
}

func isNoSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

func isReadOnly(err error) bool { return errors.Is(err, unix.EROFS) }

func isMountPoint(err error) bool { return errors.Is(err, unix.EBUSY) }

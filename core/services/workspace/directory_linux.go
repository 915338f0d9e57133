package workspace

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// fdDirectory is a directory opened by openat2: the kernel refuses to leave the directory, in the
// same call that opens the file.
type fdDirectory struct {
	file *os.File
	// timed is the device on which the times of directories show each change of their entries, of a
	// workspace directory and those below; 0: none.
	timed uint64
}

// openDirectory opens the directory at path, which must contain no link. If the kernel or a sandbox
// refuses openat2, it falls back to os.Root.
func openDirectory(path string) (directory, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := uninterrupted(func() (int, error) { return unix.Openat2(unix.AT_FDCWD, path, &how) })
	switch {
	case lacksOpenat2(err):
		return openRootDirectory(path)
	case err == unix.ELOOP: //nolint:errorlint // a bare errno
		return nil, errReplaced
	case err != nil:
		return nil, err
	}
	d := fdDirectory{file: os.NewFile(uintptr(fd), path)}
	d.timed = d.timedDevice()
	return d, nil
}

// timedDevice returns the device of a directory on a usual file system of this machine, otherwise 0:
// others may cache the times, and a merged directory has those of one of its parts.
func (d fdDirectory) timedDevice() uint64 {
	var st unix.Statfs_t
	own, err := d.identity()
	if err == nil {
		err = control(d.file, func(fd int) error { return unix.Fstatfs(fd, &st) })
	}
	if err != nil {
		return 0
	}
	switch uint32(st.Type) { //nolint:gosec // a magic number
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return own.Dev
	}
	return 0
}

func (d fdDirectory) times() (Info, bool) {
	if d.timed == 0 {
		return Info{}, false
	}
	info, err := d.identity()
	return info, err == nil && info.Dev == d.timed
}

// now reads the clock of the kernel that gives files their times. Unlike the time of day, it stands still while the kernel
// cannot advance it.
func (fdDirectory) now() time.Time {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts) != nil {
		return time.Time{} // nothing is old enough
	}
	return time.Unix(ts.Unix())
}

// lacksOpenat2 recognizes the errors of a kernel before 5.6 and of sandboxes that filter system
// calls.
func lacksOpenat2(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL)
}

// control calls f with the file's descriptor, which stays open meanwhile.
func control(file *os.File, f func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	if err := raw.Control(func(fd uintptr) { ferr = f(int(fd)) }); err != nil {
		return os.ErrClosed // the only error of Control
	}
	return ferr
}

// uninterrupted repeats a system call that a signal ended early.
func uninterrupted(call func() (int, error)) (int, error) {
	for {
		fd, err := call()
		if err != unix.EINTR { //nolint:errorlint // a bare errno
			return fd, err
		}
	}
}

// openBelow opens rel and follows links within the bounds of resolve.
func (d fdDirectory) openBelow(rel string, flags, resolve uint64) (fd int, err error) {
	// EAGAIN: because of a concurrent rename the kernel could not verify a `..`, or the file is
	// leased. The walk after errIndirect distinguishes the two.
	const attempts = 16
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve | unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	err = control(d.file, func(dirfd int) (err error) {
		for range attempts {
			fd, err = uninterrupted(func() (int, error) { return unix.Openat2(dirfd, rel, &how) })
			if err != unix.EAGAIN { //nolint:errorlint // a bare errno
				return err
			}
		}
		return errIndirect
	})
	if err == unix.EXDEV { //nolint:errorlint // a bare errno
		err = errIndirect
	}
	return fd, err
}

func (d fdDirectory) identity() (Info, error) {
	var st unix.Stat_t
	if err := control(d.file, func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return Info{}, err
	}
	return infoOfStat(&st), nil
}

func (d fdDirectory) stat(rel string) (Info, error) {
	if rel == "." {
		return d.identity()
	}
	if !strings.Contains(rel, "/") { // one element leads elsewhere only if it is a link
		info, err := d.lstat(rel)
		if err != nil || info.Mode&fs.ModeSymlink == 0 {
			return info, err
		}
	}
	fd, err := d.openBelow(rel, unix.O_PATH, 0)
	if err != nil {
		return Info{}, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Info{}, err
	}
	return infoOfStat(&st), nil
}

func (d fdDirectory) open(rel string) (*os.File, error) {
	fd, err := d.openBelow(rel, unix.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), rel), nil
}

func (d fdDirectory) list(rel string) (listing, error) {
	fd, err := d.openBelow(rel, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return listing{}, err
	}
	f := os.NewFile(uintptr(fd), rel)
	return listOf(f, fdDirectory{file: f}), nil
}

func (d fdDirectory) parent(rel string) (directory, error) {
	fd, err := d.openBelow(rel, unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS)
	if err == unix.ELOOP { //nolint:errorlint // a bare errno
		return nil, errIndirect
	}
	if err != nil {
		return nil, err
	}
	return fdDirectory{os.NewFile(uintptr(fd), rel), d.timed}, nil
}

// openat opens an element of the directory, never following it.
func (d fdDirectory) openat(name string, flags int) (fd int, err error) {
	err = control(d.file, func(dirfd int) (err error) {
		fd, err = uninterrupted(func() (int, error) {
			return unix.Openat(dirfd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		})
		return err
	})
	return fd, err
}

func (d fdDirectory) lstat(name string) (Info, error) {
	var st unix.Stat_t
	err := control(d.file, func(dirfd int) error {
		return unix.Fstatat(dirfd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		return Info{}, err
	}
	return infoOfStat(&st), nil
}

func (d fdDirectory) lookup(name string) (entry, error) {
	fd, err := d.openat(name, unix.O_PATH)
	if err != nil {
		return entry{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return entry{}, err
	}
	e := entry{info: infoOfStat(&st)}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		e.dir = fdDirectory{file: os.NewFile(uintptr(fd), name)}
		return e, nil
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		target := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(fd, "", target)
		if err != nil {
			return entry{}, err
		}
		e.target = string(target[:n])
	}
	return e, nil
}

func (d fdDirectory) openEntry(name string) (*os.File, error) {
	fd, err := d.openat(name, unix.O_RDONLY|openFlags)
	if err == unix.ELOOP { //nolint:errorlint // a bare errno
		return nil, errMoved
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (d fdDirectory) mkdir(name string, perm fs.FileMode) error {
	return control(d.file, func(dirfd int) error { return unix.Mkdirat(dirfd, name, uint32(perm.Perm())) })
}

func (d fdDirectory) symlink(target, name string) error {
	err := control(d.file, func(dirfd int) error { return unix.Symlinkat(target, dirfd, name) })
	if err != unix.EEXIST { //nolint:errorlint // a bare errno
		return err
	}
	return d.relink(target, name)
}

// relink replaces a link.
func (d fdDirectory) relink(target, name string) error {
	if st, err := d.raw(name); err != nil || !isType(&st, unix.S_IFLNK) {
		return errors.Join(unix.EEXIST, err)
	}
	temp := hiddenName()
	return control(d.file, func(dirfd int) error {
		err := unix.Symlinkat(target, dirfd, temp)
		if err == nil {
			if err = unix.Renameat(dirfd, temp, dirfd, name); err != nil {
				_ = unix.Unlinkat(dirfd, temp, 0) // the other error is returned
			}
		}
		return err
	})
}

func (d fdDirectory) unlink(name string) error {
	return control(d.file, func(dirfd int) error { return unix.Unlinkat(dirfd, name, 0) })
}

// chmod goes through /proc: a link must not be followed, and other ways need a newer kernel.
func (d fdDirectory) chmod(name string, mode fs.FileMode) error {
	fd, err := d.openat(name, unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if !isType(&st, unix.S_IFREG) && !isType(&st, unix.S_IFDIR) {
		return errSpecial
	}
	return os.Chmod(fdPath(fd), mode)
}

func (d fdDirectory) rmdir(name string) error {
	return control(d.file, func(dirfd int) error { return unix.Unlinkat(dirfd, name, unix.AT_REMOVEDIR) })
}

func (d fdDirectory) mayChange(string) error { return nil }

func (d fdDirectory) change(name string) (*Location, error) {
	fd, err := d.openBelow(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	return changeIn(f, fdDirectory{file: f}, name), nil
}

func (d fdDirectory) close() { _ = d.file.Close() }

package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// pause blocks its thread for d. A timer of the runtime that no other work keeps exact waits whole
// milliseconds, and the kernel adds up to 50 microseconds unless the thread asks for exact timers.
func pause(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if usual, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err == nil && unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) == nil {
		defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(usual), 0, 0, 0) }()
	}
	left := unix.NsecToTimespec(d.Nanoseconds())
	_ = retry(func() error { return unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &left, &left) })
}

func (kernel) pathOf(dir *os.File, fallback string) string {
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
	runtime.KeepAlive(dir)
	if err != nil {
		return fallback
	}
	return name
}

func (kernel) createUnnamed(dir *os.File, perm fs.FileMode) (*os.File, error) {
	f, err := openAt(dir, ".", unix.O_TMPFILE|unix.O_WRONLY, uint32(perm.Perm()))
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) {
		err = unsupported(err) // kernels and file systems without O_TMPFILE
	}
	return f, err
}

// linkUnnamed goes through /proc: AT_EMPTY_PATH would need a privilege.
func (kernel) linkUnnamed(f *os.File, dir *os.File, name string) error {
	from := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	err := retry(func() error {
		return unix.Linkat(unix.AT_FDCWD, from, int(dir.Fd()), name, unix.AT_SYMLINK_FOLLOW)
	})
	runtime.KeepAlive(f)
	runtime.KeepAlive(dir)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EPERM), errors.Is(err, unix.EXDEV):
		return unsupported(err) // no /proc, or a file system without links
	}
	return nameError("link", name, err)
}

func (kernel) exchange(dir *os.File, a, b string) error {
	return renameat2(dir, a, b, unix.RENAME_EXCHANGE)
}

func (kernel) renameNoReplace(dir *os.File, from, to string) error {
	return renameat2(dir, from, to, unix.RENAME_NOREPLACE)
}

func (kernel) makeWhiteout(dir *os.File, name string) error {
	err := retry(func() error { return unix.Mknodat(int(dir.Fd()), name, unix.S_IFCHR, 0) })
	runtime.KeepAlive(dir)
	return nameError("mknod", name, err)
}

func renameat2(dir *os.File, from, to string, flags uint) error {
	err := retry(func() error {
		return unix.Renameat2(int(dir.Fd()), from, int(dir.Fd()), to, flags)
	})
	runtime.KeepAlive(dir)
	if errors.Is(err, unix.EINVAL) { // ENOSYS already means that
		return unsupported(err)
	}
	return nameError("rename", from, err)
}

// shields: a file can be leased so that no other process opens it.
const shields = true

func (kernel) reopen(f *os.File) (*os.File, error) {
	path := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	runtime.KeepAlive(f)
	if err != nil {
		return nil, nameError("open", f.Name(), err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// mayWrite does not open the file, so it breaks no lease, and no file watcher sees the file opened
// for writing.
func (kernel) mayWrite(dir *os.File, name string) error {
	err := unix.Faccessat(int(dir.Fd()), name, unix.W_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW)
	runtime.KeepAlive(dir)
	return nameError("access", name, err)
}

// isMountRoot reports whether a file is mounted at name; kernels before 5.8 do not report it.
func isMountRoot(dir *os.File, name string) bool {
	var st unix.Statx_t
	err := retry(func() error {
		return unix.Statx(int(dir.Fd()), name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st)
	})
	runtime.KeepAlive(dir)
	return err == nil && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// ownsAll reports whether the process has the rights of every owner.
func ownsAll() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&header, &data[0])
	return err == nil && data[0].Effective&(1<<unix.CAP_FOWNER) != 0
}

func (kernel) reserve(f *os.File, size int64) error {
	err := retry(func() error { return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size) })
	runtime.KeepAlive(f)
	return err
}

// lease requests no signal for a broken lease: leaseHeld polls, and a signal handler would run
// while other programs wait. Until the owner of the signal is cleared it is SIGURG, which programs
// ignore by default, while SIGIO would end a process that does not run under Go's own signal
// handlers (fettle built into a C program).
func (kernel) lease(f *os.File, exclusive bool) error {
	kind := unix.F_RDLCK
	if exclusive {
		kind = unix.F_WRLCK
	}
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETSIG, int(unix.SIGURG))
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, kind)
	}
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETOWN, 0)
	}
	runtime.KeepAlive(f)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EAGAIN):
		return errBusy
	default: // EACCES: a file of another owner; EINVAL: no leases here
		return unsupported(err)
	}
}

func (kernel) leaseHeld(f *os.File) bool {
	kind, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0)
	runtime.KeepAlive(f)
	return err == nil && (kind == unix.F_RDLCK || kind == unix.F_WRLCK)
}

func (kernel) endLease(f *os.File) {
	_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK) // closing ends it too
	runtime.KeepAlive(f)
}

const errNoAttribute = unix.ENODATA

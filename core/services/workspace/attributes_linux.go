package workspace

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// copyAttributes gives a new file or directory of an upper directory the owner, extended attributes, mode and
// times of the one below. If the owner is not permitted, the one below must be writable for the caller.
func copyAttributes(dst, src *os.File) error {
	return control(dst, func(to int) error {
		return control(src, func(from int) error {
			var was, st unix.Stat_t
			if err := unix.Fstat(from, &was); err != nil {
				return err
			}
			if err := unix.Fstat(to, &st); err != nil {
				return err
			}
			mode := was.Mode & 0o7777
			refused := false
			if was.Uid != st.Uid && unix.Fchown(to, int(was.Uid), -1) != nil {
				refused = true
				mode &^= unix.S_ISUID
			}
			if was.Gid != st.Gid && unix.Fchown(to, -1, int(was.Gid)) != nil {
				refused = true
				mode &^= unix.S_ISGID
				mode &= mode<<3 | 0o7707 // a different group gets no more than all users
			}
			if refused {
				if err := unix.Faccessat(unix.AT_FDCWD, fdPath(from), unix.W_OK, unix.AT_EACCESS); err != nil {
					return err
				}
			}
			if err := copyXattrs(to, from); err != nil {
				return err
			}
			if err := unix.Fchmod(to, mode); err != nil {
				return err
			}
			return unix.UtimesNanoAt(unix.AT_FDCWD, fdPath(to), []unix.Timespec{was.Atim, was.Mtim}, 0)
		})
	})
}

// copyXattrs copies extended attributes. The source may have been opened without permission to read it.
func copyXattrs(to, from int) error {
	names, err := sizedXattr(func(buf []byte) (int, error) { return unix.Listxattr(fdPath(from), buf) })
	if errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	if err != nil {
		return err
	}
	for name := range strings.FieldsFuncSeq(string(names), func(r rune) bool { return r == 0 }) {
		if strings.HasPrefix(name, "user.overlay.") {
			continue
		}
		value, err := sizedXattr(func(buf []byte) (int, error) { return unix.Getxattr(fdPath(from), name, buf) })
		if err == nil {
			err = unix.Setxattr(fdPath(to), name, value, 0)
		}
		system := strings.HasPrefix(name, "security.") || strings.HasPrefix(name, "trusted.")
		if err != nil && !system && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP) {
			return &fs.PathError{Op: "copy attribute " + name, Path: fdPath(to), Err: err}
		}
	}
	return nil
}

// xattrArgs are the arguments of getxattrat.
type xattrArgs struct {
	value       unsafe.Pointer // 64 bits
	size, flags uint32
}

// opaque reports whether a directory of the upper one hides the one below; the error is ENOENT if there is
// none. It does not follow a link at the end.
func (d layered) opaque(rel string) (opaque bool, err error) {
	var value [2]byte
	n := 0
	err = control(d.upper.file, func(dirfd int) (err error) {
		n, err = getXattrAt(dirfd, rel, value[:])
		if err == unix.ENOSYS || err == unix.EPERM { //nolint:errorlint // bare errnos; a kernel before 6.13
			n, err = unix.Lgetxattr(fdPath(dirfd)+"/"+rel, opaqueAttribute, value[:])
		}
		return err
	})
	return err == nil && n == 1 && value[0] == 'y', err
}

func getXattrAt(dirfd int, rel string, value []byte) (int, error) {
	path, err := unix.BytePtrFromString(rel)
	if err != nil {
		return 0, err
	}
	name, err := unix.BytePtrFromString(opaqueAttribute)
	if err != nil {
		return 0, err
	}
	if unsafe.Sizeof(uintptr(0)) != 8 {
		return 0, unix.ENOSYS
	}
	args := xattrArgs{value: unsafe.Pointer(&value[0]), size: uint32(len(value))}
	n, _, errno := unix.Syscall6(unix.SYS_GETXATTRAT, uintptr(dirfd), uintptr(unsafe.Pointer(path)), unix.AT_SYMLINK_NOFOLLOW,
		uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// sizedXattr calls get with growing buffers until one is large enough.
func sizedXattr(get func([]byte) (int, error)) ([]byte, error) {
	for size := 512; ; size *= 2 {
		buf := make([]byte, size)
		n, err := get(buf)
		if !errors.Is(err, unix.ERANGE) {
			return buf[:max(n, 0)], err
		}
	}
}

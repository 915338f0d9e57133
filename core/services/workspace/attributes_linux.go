package workspace

import (
	"errors"
	"io/fs"
	"os"
	"strings"

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

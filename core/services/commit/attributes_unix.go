//go:build linux || darwin

package commit

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

func (kernel) copyAttributes(dst, src *os.File) error {
	mode, refused, err := copyOwner(dst, src)
	if err != nil {
		return err
	}
	if err := copyXattrs(dst, src); err != nil {
		return err
	}
	err = unix.Fchmod(int(dst.Fd()), mode)
	runtime.KeepAlive(dst)
	if err != nil {
		return nameError("chmod", dst.Name(), err)
	}
	if refused != nil {
		return errOwner.withCause(nameError("chown", dst.Name(), refused))
	}
	return nil
}

// copyOwner gives dst the owner and group of src, as far as permitted, and returns the mode bits
// for dst: those of src, without the bits granted to an owner or group that dst does not have.
// refused is the system's error if either is not permitted.
func copyOwner(dst, src *os.File) (mode uint32, refused, err error) {
	var from, to unix.Stat_t
	if err := unix.Fstat(int(src.Fd()), &from); err != nil {
		return 0, nil, nameError("stat", src.Name(), err)
	}
	if err := unix.Fstat(int(dst.Fd()), &to); err != nil {
		return 0, nil, nameError("stat", dst.Name(), err)
	}
	mode = uint32(from.Mode) & 0o7777
	if from.Uid != to.Uid {
		if err := unix.Fchown(int(dst.Fd()), int(from.Uid), -1); err != nil {
			mode, refused = mode&^unix.S_ISUID, err
		}
	}
	if from.Gid != to.Gid {
		if err := unix.Fchown(int(dst.Fd()), -1, int(from.Gid)); err != nil {
			mode, refused = mode&^unix.S_ISGID, err
			mode &= mode<<3 | 0o7707 // a different group gets no more than all users
		}
	}
	runtime.KeepAlive(src)
	runtime.KeepAlive(dst)
	return mode, refused, nil
}

const accessACL = "system.posix_acl_access"

// copyXattrs copies all extended attributes, including ACLs, and removes those of dst that src
// lacks, such as an ACL inherited from the directory. Names that only the system may set are
// skipped if it denies them.
func copyXattrs(dst, src *os.File) error {
	names, err := listXattrs(src)
	if err != nil {
		return err
	}
	extra, err := listXattrs(dst)
	if err != nil {
		return err
	}
	for _, name := range names {
		value, err := getXattr(src, name)
		if err == nil {
			err = unix.Fsetxattr(int(dst.Fd()), name, value, 0)
			runtime.KeepAlive(dst)
		}
		if err != nil && !isSystems(name) && !errors.Is(err, errNoAttribute) && !errors.Is(err, unix.ENOTSUP) {
			return nameError("copy attribute "+name+" to", dst.Name(), err)
		}
	}
	for _, name := range extra {
		if isSystems(name) || slices.Contains(names, name) {
			continue
		}
		err := unix.Fremovexattr(int(dst.Fd()), name)
		runtime.KeepAlive(dst)
		if err != nil && name == accessACL && !errors.Is(err, errNoAttribute) && !errors.Is(err, unix.ENOTSUP) {
			return nameError("remove inherited ACL of", dst.Name(), err)
		}
	}
	return nil
}

func isSystems(attribute string) bool {
	return strings.HasPrefix(attribute, "security.") || strings.HasPrefix(attribute, "trusted.")
}

func listXattrs(f *os.File) ([]string, error) {
	data, err := sized(func(buf []byte) (int, error) { return unix.Flistxattr(int(f.Fd()), buf) })
	runtime.KeepAlive(f)
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, nameError("list attributes of", f.Name(), err)
	}
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == 0 }), nil
}

func getXattr(f *os.File, name string) ([]byte, error) {
	value, err := sized(func(buf []byte) (int, error) { return unix.Fgetxattr(int(f.Fd()), name, buf) })
	runtime.KeepAlive(f)
	return value, err
}

// sized calls get with growing buffers until one is large enough.
func sized(get func([]byte) (int, error)) ([]byte, error) {
	for size := 512; ; {
		buf := make([]byte, size)
		n, err := get(buf)
		switch {
		case err == nil:
			return buf[:n], nil
		case !errors.Is(err, unix.ERANGE):
			return nil, err
		}
		if n, err = get(nil); err != nil {
			return nil, err
		}
		size = max(n, 2*size)
	}
}

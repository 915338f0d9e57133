package fork

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const opaque = "user.overlay.opaque"

// clone shares the blocks of a file with an empty one; false: the file system cannot.
func clone(to, from *os.File) bool {
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) == nil
}

// probe reports why a directory cannot hold removals in the format of overlayfs.
func probe(dir string) error {
	name := filepath.Join(dir, "probe")
	if err := unix.Mknod(name, unix.S_IFCHR, 0); err != nil {
		return fmt.Errorf("a removal cannot be recorded: %w", err)
	}
	defer os.Remove(name)
	if err := os.Mkdir(name+"-dir", 0o700); err != nil {
		return err
	}
	defer os.Remove(name + "-dir")
	if err := unix.Setxattr(name+"-dir", opaque, []byte("y"), 0); err != nil {
		return fmt.Errorf("a replaced directory cannot be recorded: %w", err)
	}
	return nil
}

// isWhiteout reports whether the name removes the file below.
func isWhiteout(name string) bool {
	var st unix.Stat_t
	return unix.Lstat(name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0
}

// isOpaque reports whether a directory hides the one below.
func isOpaque(name string) bool {
	var value [1]byte
	n, err := unix.Lgetxattr(name, opaque, value[:])
	return err == nil && n == 1 && value[0] == 'y'
}

// isForged reports whether an entry of an upper directory has an attribute that makes overlayfs show another
// file, or the data of another one. Neither fettle nor the kernel creates such entries here.
func isForged(name string) bool {
	list := make([]byte, 4096)
	n, err := unix.Llistxattr(name, list)
	if err != nil {
		return !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.ENOENT)
	}
	for key := range strings.SplitSeq(string(list[:n]), "\x00") {
		switch strings.TrimPrefix(key, "user.overlay.") {
		case "redirect", "metacopy", "whiteout":
			return true
		}
	}
	return false
}

// exchange swaps two names.
func exchange(dir *os.File, a, b string) error {
	fd := int(dir.Fd())
	return unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE)
}

// renameNew renames a file unless the new name exists.
func renameNew(dir *os.File, from, to string) error {
	fd := int(dir.Fd())
	return unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
}

// clearOpaque shows the directory below again.
func clearOpaque(name string) error { return unix.Removexattr(name, opaque) }

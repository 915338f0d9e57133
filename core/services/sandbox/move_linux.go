//go:build linux && (amd64 || arm64)

package sandbox

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// moveTree moves an entry of a directory to a path on another file system: it copies files,
// directories and links, and then removes the entry.
func moveTree(parent int, base, target string) error {
	root, err := os.OpenRoot(procPath(parent))
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing was written in it
	err = fs.WalkDir(root.FS(), base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(base, path)
		if err != nil {
			return err
		}
		to := filepath.Join(target, rest)
		switch {
		case d.IsDir():
			_ = root.Chmod(path, 0o700) // so that it can be emptied
			return os.MkdirAll(to, 0o700)
		case d.Type() == fs.ModeSymlink:
			link, err := root.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, to)
		case d.Type().IsRegular():
			return copyFile(root, path, to)
		}
		return nil // sockets and the like have no content
	})
	if err != nil {
		return err
	}
	return root.RemoveAll(base)
}

func copyFile(root *os.Root, path, to string) (err error) {
	_ = root.Chmod(path, 0o600)
	from, err := root.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a process may have put a pipe there
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // nothing was written
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, from)
	if closed := w.Close(); err == nil {
		err = closed
	}
	return err
}

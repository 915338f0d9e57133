//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// remove moves a path in root to the recovery directory.
func (t *Tree) remove(root, path string) error { return moveAway(t.recovery, root, path) }

// moveAway moves a path in root to the directory that recovery returns. It follows no links, because a
// process may still be changing the directories.
func moveAway(recoveryDir func() (string, error), root, path string) error {
	fail := func(err error) error { return &Error{Step: "remove " + path, Err: err} }
	recovery, err := recoveryDir()
	if err != nil {
		return fail(err)
	}
	parent, err := openDirectory(filepath.Dir(path))
	if err != nil {
		return fail(err)
	}
	defer unix.Close(parent) //nolint:errcheck // nothing was written
	base := filepath.Base(path)
	rest, _ := filepath.Rel(root, path)
	into, err := os.MkdirTemp(recovery, time.Now().Format("20060102T150405-"))
	if err != nil {
		return fail(err)
	}
	if len(into)+len(rest) > longest {
		rest = base
	}
	target := filepath.Join(into, rest)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return fail(err)
	}
	if fd, err := openPath(parent, base); err == nil {
		_ = os.Chmod(procPath(fd), 0o700) //nolint:gosec // moving a directory requires that
		_ = unix.Close(fd)
	}
	err = unix.Renameat(parent, base, unix.AT_FDCWD, target)
	if errors.Is(err, unix.EXDEV) {
		err = moveTree(parent, base, target)
	}
	if err != nil {
		if _, moved := identityOf(target); !moved {
			_ = os.RemoveAll(into) // it contains empty directories
		}
		return fail(err)
	}
	return nil
}

// moveTree moves an entry of a directory to a path on another file system: it copies files,
// directories and links, and then removes the entry. If the entry cannot be copied, it stays, and
// nothing remains at the path.
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
		return errors.Join(err, os.RemoveAll(target))
	}
	return root.RemoveAll(base)
}

// copyFile copies a file as long as it is now: a process may be writing to it still. It copies nothing
// if the process has put something else there.
func copyFile(root *os.Root, path, to string) (err error) {
	_ = root.Chmod(path, 0o600)
	from, err := root.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // it may be a pipe now
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // nothing was written
	info, err := from.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, io.LimitReader(from, info.Size()))
	if closed := w.Close(); err == nil {
		err = closed
	}
	return err
}

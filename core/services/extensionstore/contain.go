package extensionstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxEntries bounds the files and directories in a part of an extension.
const maxEntries = 20_000

// errOutside: a path is not in the extension.
var errOutside = errors.New("it leads out of the extension")

// container is the directory of an extension, which paths of its parts must not leave.
type container struct {
	path string // for display
	real string // with links resolved
}

func contain(path string) (container, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return container{}, err
	}
	info, err := os.Stat(real)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no directory")
	}
	return container{path: filepath.Clean(path), real: real}, err
}

// has reports whether a resolved path is in the container.
func (c container) has(real string) bool {
	rel, err := filepath.Rel(c.real, real)
	return err == nil && filepath.IsLocal(rel)
}

// find returns the path of rel below the container; links are resolved for the check
// only. The error is fs.ErrNotExist for a missing path, errOutside, or another error for
// the wrong kind of file.
func (c container) find(rel string, dir bool) (string, error) {
	path := filepath.Join(c.path, filepath.FromSlash(rel))
	if _, err := os.Lstat(path); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errOutside // its future content is unknown
	case err != nil:
		return "", err
	case !c.has(real):
		return "", errOutside
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return "", err
	case dir && !info.IsDir():
		return "", errors.New("it is no directory")
	case !dir && !info.Mode().IsRegular():
		return "", errors.New("it is not a regular file")
	}
	return path, nil
}

// plain returns the path of a file in the container, links resolved.
func (c container) plain(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if rel, err := filepath.Rel(c.real, real); err == nil {
			return filepath.Join(c.path, rel)
		}
	}
	return path
}

// outside returns the path of a link in a directory of the container that leads out of
// it, also through other links; "" if there is none.
func (c container) outside(dir string) (string, error) {
	w := walk{c: c, seen: map[string]bool{}}
	if err := w.checkDir(dir); err != nil {
		return "", err
	}
	return w.found, nil
}

type walk struct {
	c       container
	seen    map[string]bool // resolved directories
	entries int
	found   string
}

func (w *walk) checkDir(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || w.seen[real] {
		return err
	}
	w.seen[real] = true
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if w.entries++; w.entries > maxEntries {
			return fmt.Errorf("it has more than %d files", maxEntries)
		}
		at := filepath.Join(path, entry.Name())
		isDir := entry.IsDir()
		if entry.Type()&fs.ModeSymlink != 0 {
			target, err := filepath.EvalSymlinks(at)
			if err != nil || !w.c.has(target) { // a missing target may become anything
				w.found = at
				return nil
			}
			info, err := os.Stat(target)
			isDir = err == nil && info.IsDir()
		}
		if isDir {
			if err := w.checkDir(at); err != nil || w.found != "" {
				return err
			}
		}
	}
	return nil
}

// shown returns a path below the container for display.
func (c container) shown(path string) string {
	if rel, err := filepath.Rel(c.path, path); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return path
}

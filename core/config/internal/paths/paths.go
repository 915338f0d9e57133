// Package paths compares and checks file paths for the packages below
// core/config.
package paths

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Same reports whether two paths lead to the same file or directory.
func Same(a, b string) bool {
	if a == b {
		return true
	}
	infoA, err := os.Stat(a)
	if err != nil {
		return false
	}
	infoB, err := os.Stat(b)
	return err == nil && os.SameFile(infoA, infoB)
}

// IsDir reports whether path is a directory.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Check returns the reason why a file or directory cannot be used, or nil.
func Check(path string, dir bool) error {
	if path == "" {
		return errors.New("the path is empty")
	}
	info, err := os.Stat(path)
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	if err == nil && dir && !info.IsDir() {
		return errors.New("it is not a directory")
	}
	return err
}

// ResolveExisting returns a path with links resolved in its existing part.
func ResolveExisting(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(ResolveExisting(dir), filepath.Base(path))
	}
	return path
}

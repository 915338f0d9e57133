package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// realDir returns the absolute path of a directory. Links in its existing part are resolved.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil && dir != "" {
		if abs, err = workspace.RealPath(abs); err == nil {
			return abs, nil
		}
	}
	if dir == "" {
		return "", fault.New(fault.InvalidConfig, "trust.directory", "No directory is given.", "Name a directory.")
	}
	return "", fault.Wrap(fault.ReadContentFailure, "trust.directory",
		fmt.Sprintf("The links of the directory %.200q cannot be resolved.", dir), "Give the path of a directory that you have permission to open.", err)
}

// subject returns the directory of an entry. If its links cannot be resolved, it is the cleaned
// key.
func subject(e Entry) string {
	path := filepath.Clean(e.Path)
	if e.Value == trustParent {
		path = filepath.Dir(path)
	}
	if real, err := workspace.RealPath(path); err == nil {
		return real
	}
	return path
}

// recordable returns the reason why a state cannot be recorded for a directory.
func recordable(dir string, state State) error {
	if !utf8.ValidString(dir) {
		return fault.New(fault.InvalidConfig, "trust.set",
			fmt.Sprintf("The path %.200q is not UTF-8 and cannot be encoded as JSON.", dir), "Rename the directory, or record its parent.")
	}
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return fault.New(fault.PathIsNotADirectory, "trust.set", fmt.Sprintf("%s is not a directory.", dir), "Name a directory.")
	case err != nil && state == Trusted:
		return fault.Wrap(fault.FileNotFound, "trust.set", fmt.Sprintf("The directory %s to trust does not exist.", dir),
			"Name an existing directory that you have permission to open.", err)
	}
	return nil
}

// ancestor is one directory of a chain.
type ancestor struct {
	path string
	info os.FileInfo // nil if it does not exist
}

// chain is a directory with all its ancestors, the root first.
type chain []ancestor

// newChain returns the chain of an absolute path without links.
func newChain(dir string) chain {
	var up chain
	for path := dir; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			info = nil
		}
		up = append(up, ancestor{path, info})
		if filepath.Dir(path) == path {
			break
		}
	}
	slices.Reverse(up)
	return up
}

// deepest returns the depth of the chain's own directory.
func (c chain) deepest() int { return len(c) - 1 }

// depth returns the index of a directory in the chain. Names that differ only in case are equal if
// the file system reports the same directory.
func (c chain) depth(dir string) (int, bool) {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].path == dir {
			return i, true
		}
		if c[i].info != nil && strings.EqualFold(c[i].path, dir) {
			if info, err := os.Stat(dir); err == nil && os.SameFile(info, c[i].info) {
				return i, true
			}
		}
	}
	return 0, false
}

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

// realFolder returns a directory's absolute path with the links of what exists of
// it followed.
func realFolder(folder string) (string, error) {
	abs, err := filepath.Abs(folder)
	if err == nil && folder != "" {
		if abs, err = workspace.RealPath(abs); err == nil {
			return abs, nil
		}
	}
	if folder == "" {
		return "", fault.New(fault.InvalidConfig, "trust.folder", "No directory is given.", "Name a directory.")
	}
	return "", fault.Wrap(fault.ReadContentFailure, "trust.folder",
		fmt.Sprintf("It cannot be told where the directory %.200q leads.", folder), "Give the path of a directory that you may open.", err)
}

// subject returns the directory that an entry speaks of. Where it cannot be told
// where a key leads, it is taken by its text.
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

// recordable reports why a state cannot be recorded of a directory.
func recordable(folder string, state State) error {
	if !utf8.ValidString(folder) {
		return fault.New(fault.InvalidConfig, "trust.set",
			fmt.Sprintf("The path %.200q is not UTF-8 and cannot be written down as JSON.", folder), "Rename the directory, or record one that holds it.")
	}
	info, err := os.Stat(folder)
	switch {
	case err == nil && !info.IsDir():
		return fault.New(fault.PathIsNotADirectory, "trust.set", fmt.Sprintf("%s is not a directory.", folder), "Name a directory.")
	case err != nil && state == Trusted:
		return fault.Wrap(fault.FileNotFound, "trust.set", fmt.Sprintf("There is no directory %s to trust.", folder),
			"Name a directory that exists and that you may open.", err)
	}
	return nil
}

// spot is one directory of a chain.
type spot struct {
	path string
	info os.FileInfo // nil if it does not exist
}

// chain is a directory with all that contain it, the root first.
type chain []spot

// chainOf returns the chain of an absolute path without links.
func chainOf(folder string) chain {
	var up chain
	for path := folder; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			info = nil
		}
		up = append(up, spot{path, info})
		if filepath.Dir(path) == path {
			break
		}
	}
	slices.Reverse(up)
	return up
}

// deepest is the depth of the chain's own directory.
func (c chain) deepest() int { return len(c) - 1 }

// depth returns at which place of the chain a directory stands. Names that differ
// in case are one where the file system says so.
func (c chain) depth(folder string) (int, bool) {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].path == folder {
			return i, true
		}
		if c[i].info != nil && strings.EqualFold(c[i].path, folder) {
			if info, err := os.Stat(folder); err == nil && os.SameFile(info, c[i].info) {
				return i, true
			}
		}
	}
	return 0, false
}

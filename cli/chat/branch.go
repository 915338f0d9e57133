package chat

import (
	"os"
	"path/filepath"
	"strings"
)

// branchOf returns the Git branch of a directory, or the abbreviated commit of a
// detached HEAD; "" outside of a repository. It reads the files of Git and runs no
// command.
func branchOf(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if dir := gitDir(at); dir != "" {
			head, err := os.ReadFile(filepath.Join(dir, "HEAD"))
			if err != nil {
				return ""
			}
			text := strings.TrimSpace(string(head))
			if ref, ok := strings.CutPrefix(text, "ref: "); ok {
				return strings.TrimPrefix(ref, "refs/heads/")
			}
			return text[:min(len(text), 8)]
		}
		if filepath.Dir(at) == at {
			return ""
		}
	}
}

// gitDir returns the Git directory of the working tree with the given top directory,
// "" if there is none. In a linked worktree, .git is a file with its path.
func gitDir(top string) string {
	path := filepath.Join(top, ".git")
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return path
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(top, dir)
	}
	return dir
}

package chat

import (
	"os"
	"path/filepath"
	"strings"
)

// branchOf returns the branch of git that a directory is on, or the beginning of the
// commit where it is on none; "" outside of a repository. It reads git's files and
// runs nothing.
func branchOf(folder string) string {
	for at := folder; ; at = filepath.Dir(at) {
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

// gitDir returns where git keeps the repository whose top is a directory, "" where it
// is none. In a worktree .git is a file that names it.
func gitDir(folder string) string {
	path := filepath.Join(folder, ".git")
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
		dir = filepath.Join(folder, dir)
	}
	return dir
}

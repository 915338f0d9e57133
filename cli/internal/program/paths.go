package program

import (
	"os"
	"path/filepath"
	"strings"
)

// Absolute returns paths that count from the current directory as absolute ones;
// nil stays nil, and an empty path empty. ~/ is the home directory.
func Absolute(paths []string) []string {
	var all []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				p = filepath.Join(home, rest)
			}
		}
		if p != "" {
			if abs, err := filepath.Abs(p); err == nil { // else the current directory is gone, which is told where it is used
				p = abs
			}
		}
		all = append(all, p)
	}
	return all
}

// Under is a path as --cwd means it: it counts from there.
func Under(g *Flags, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(g.Cwd, path)
}

// Exists reports whether there is something at a path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

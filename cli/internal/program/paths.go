package program

import (
	"os"
	"path/filepath"
	"strings"
)

// Absolute makes paths absolute, relative to the current directory. nil stays nil,
// and an empty path stays empty. ~/ is the home directory.
func Absolute(paths []string) []string {
	var all []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				p = filepath.Join(home, rest)
			}
		}
		if p != "" {
			if abs, err := filepath.Abs(p); err == nil { // otherwise the current directory is gone, which its first use reports
				p = abs
			}
		}
		all = append(all, p)
	}
	return all
}

// Under returns a path relative to --cwd as an absolute path.
func Under(g *Flags, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(g.Cwd, path)
}

// Exists reports whether path exists.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

package extensionstore

import (
	"path/filepath"
	"slices"
	"strings"
)

// PlanDirectoryWrong returns the reason, as a clause, why plans cannot be stored in a
// directory that an extension names, by its path below the working directory; "" if they
// can. Files there are written without approval, so a directory that other programs read
// is refused: one whose name, or that of a parent, begins with a dot, as settings and
// version control have it. Directories in plans, with slashes relative to the working
// directory, and their subdirectories are accepted.
func PlanDirectoryWrong(dir string, plans []string) string {
	local := filepath.FromSlash(dir)
	if !filepath.IsLocal(local) || filepath.Clean(local) == "." {
		return "is not a directory below the working directory"
	}
	parts := strings.Split(filepath.ToSlash(filepath.Clean(local)), "/")
	for _, directory := range plans {
		if own := strings.Split(directory, "/"); len(own) <= len(parts) && slices.Equal(own, parts[:len(own)]) {
			parts = parts[len(own):]
			break
		}
	}
	for _, part := range parts {
		if strings.HasPrefix(part, ".") || strings.ContainsAny(part, "~:") || strings.TrimRight(part, ". ") != part { // the latter are other names of such directories on Windows
			return "is in a directory with another purpose"
		}
	}
	return ""
}

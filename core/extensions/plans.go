package extensions

import (
	"path/filepath"
	"slices"
	"strings"
)

// PlanDirectoryWrong says, as a clause for people, why plans cannot go to a directory
// that an extension names, by its path below the one that is worked in; "": they
// can. Files there are written without asking, so that no directory will do which
// something else reads: none whose name or that of a directory around it begins with a
// dot, as settings and version control have it, but for those of plans and what is
// below. plans are the latter, below the one that is worked in, with slashes.
func PlanDirectoryWrong(dir string, plans []string) string {
	local := filepath.FromSlash(dir)
	if !filepath.IsLocal(local) || filepath.Clean(local) == "." {
		return "is no directory below the one that is worked in"
	}
	parts := strings.Split(filepath.ToSlash(filepath.Clean(local)), "/")
	for _, folder := range plans {
		if own := strings.Split(folder, "/"); len(own) <= len(parts) && slices.Equal(own, parts[:len(own)]) {
			parts = parts[len(own):]
			break
		}
	}
	for _, part := range parts {
		if strings.HasPrefix(part, ".") || strings.ContainsAny(part, "~:") || strings.TrimRight(part, ". ") != part { // the latter are other names of such directories on Windows
			return "lies in a directory that is kept for other things"
		}
	}
	return ""
}

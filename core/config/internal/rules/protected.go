package rules

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/internal/paths"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/policy"
)

// Protected returns the protected paths of a session in addition to those of the
// table: its settings, and its instruction files with these names. userDir is the
// user's settings directory; "": there is none.
func Protected(names layout.Layout, userDir string, instructions []string) []policy.ProtectedPath {
	own := policy.ProtectedPath{What: "the session's settings", Why: "later sessions take rules, hooks and servers from them"}
	own.Names = []string{names.Dir, layout.Fettle().Dir, layout.Gemini().Dir, names.SystemDir}
	if userDir != "" {
		own.Names = append(own.Names, userDir, paths.ResolveExisting(userDir))
	}
	steering := policy.ProtectedPath{What: "the session's instruction files", Why: "later sessions follow their instructions"}
	for _, name := range append(slices.Clone(instructions), names.ContextFile) {
		if name = strings.TrimPrefix(filepath.ToSlash(filepath.Clean(name)), "./"); name != "" && name != "." {
			steering.Names = append(steering.Names, name)
		}
	}
	return []policy.ProtectedPath{own, steering}
}

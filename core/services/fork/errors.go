package fork

import (
	"runtime"
	"strings"

	"github.com/fettle-dev/fettle/core/services/commit"
)

const isWindows = runtime.GOOS == "windows"

func isNoSpace(err error) bool { return commit.IsNoSpace(err) }

// inGit reports whether a path is in a directory of git, which no merge changes.
func inGit(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if strings.EqualFold(name, ".git") {
			return true
		}
	}
	return false
}

package program

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// ApprovalsFile returns the path of the file of saved approvals for display; "" if there
// is none.
func ApprovalsFile(c *config.Config) string {
	storage, err := c.Storage()
	if err != nil || storage.GlobalDir == "" {
		return ""
	}
	return HomeAbbreviated(filepath.Join(storage.GlobalDir, "policies", rulefile.SavedApprovals))
}

// HomeAbbreviated replaces the home directory at the start of a path by ~.
func HomeAbbreviated(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, home); ok && (rest == "" || rest[0] == filepath.Separator) {
		return "~" + rest
	}
	return path
}

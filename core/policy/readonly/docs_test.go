package readonly_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy/readonly"
)

// docs/policy-commands.md lists the programs of the table.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "policy-commands.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "<!-- read-only programs -->")
	section, _, _ = strings.Cut(section, "<!-- end of read-only programs -->")
	var listed, want []string
	for _, found := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(section, -1) {
		listed = append(listed, found[1])
	}
	for _, r := range readonly.Rows() {
		for _, name := range r.Names {
			if name != "git" && name != "go" {
				want = append(want, strings.TrimPrefix(strings.TrimPrefix(name, "git "), "go "))
			}
		}
	}
	slices.Sort(listed)
	slices.Sort(want)
	require.Equal(t, want, listed)
}

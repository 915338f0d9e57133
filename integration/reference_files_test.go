package integration_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// textOf reads a file by its path below the root.
func textOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// filesOf returns the Go files of a package without tests, by path.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	require.NoError(t, err)
	all := map[string]string{}
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.go") {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			all[path] = string(text)
		}
	}
	return all
}

// markdownPages lists the pages at the top and in docs by path below the root,
// without generated pages.
func markdownPages(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"}
	require.NoError(t, fs.WalkDir(os.DirFS(".."), "docs", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".md") && !strings.HasPrefix(path, "docs/tools/") && !strings.HasPrefix(path, "docs/reference/") {
			all = append(all, path)
		}
		return err
	}))
	return all
}

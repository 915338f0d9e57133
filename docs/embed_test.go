package docs_test

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/docs"
)

// TO-18: every page of this directory is embedded as it is, begins with its
// heading, and nothing else is embedded.
func TestFiles(t *testing.T) {
	pages := func(fsys fs.FS) (found []string) {
		require.NoError(t, fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && path.Ext(name) == ".md" {
				found = append(found, name)
			}
			return err
		}))
		return found
	}
	disk := os.DirFS(".")
	require.Equal(t, pages(disk), pages(docs.Files()))
	require.Contains(t, pages(docs.Files()), "policy.md")
	require.NoError(t, fs.WalkDir(docs.Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		want, err := fs.ReadFile(disk, name)
		require.NoError(t, err)
		got, err := fs.ReadFile(docs.Files(), name)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		require.True(t, strings.HasPrefix(string(got), "# "), "%s begins with a heading", name)
		return nil
	}))
}

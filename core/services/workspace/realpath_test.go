package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A missing path resolves to its nearest existing ancestor. A dangling link and a cycle of links
// are errors.
func TestRealPath(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(top+"/real", 0o755))
	for name, target := range map[string]string{"link": "real", "nowhere": "absent", "ring": "ring"} {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	for path, want := range map[string]string{
		"real": "real", "link": "real", "link/a/b": "real/a/b", "absent/x": "absent/x", "link/../real": "real",
	} {
		got, err := RealPath(top + "/" + path)
		require.NoError(t, err, path)
		require.Equal(t, filepath.Join(top, want), got, path)
	}
	for _, path := range []string{"nowhere", "nowhere/x", "ring"} {
		_, err := RealPath(filepath.Join(top, path))
		require.Error(t, err, path)
	}
}

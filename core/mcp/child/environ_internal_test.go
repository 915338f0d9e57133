package child

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program is searched only in absolute directories of the PATH: a relative
// entry would let the working directory of fettle or of the server choose it.
func TestFindProgram(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	t.Chdir(here)
	for _, path := range []string{filepath.Join(here, "tool"), filepath.Join(here, "bin", "tool"), filepath.Join(there, "other")} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o700))
	}
	environment := []string{"PATH=" + strings.Join([]string{"", ".", "bin", "./bin", there}, string(filepath.ListSeparator))}
	_, err := findProgram("tool", here, environment)
	require.ErrorIs(t, err, fs.ErrNotExist)
	for name, want := range map[string]string{"other": filepath.Join(there, "other"), "bin/tool": filepath.Join(here, "bin", "tool"), "./tool": filepath.Join(here, "tool")} {
		path, err := findProgram(name, here, environment)
		require.NoError(t, err)
		require.Equal(t, want, path)
	}
}

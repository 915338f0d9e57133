package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSmoke(t *testing.T) {
	for _, open1 := range []func(string) (directory, error){openDirectory, openRootDirectory} {
		d := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(d, "a"), []byte("x"), 0o600))
		require.NoError(t, os.Symlink(filepath.Join(d, "new"), filepath.Join(d, "l")))
		w, err := open(open1, []string{d})
		require.NoError(t, err)
		p, err := w.Resolve("a")
		require.NoError(t, err)
		i, err := w.Stat(p)
		require.NoError(t, err)
		require.EqualValues(t, 1, i.Size)
		p, _ = w.Resolve("l")
		l, err := w.Locate(p)
		require.NoError(t, err)
		require.Equal(t, "new", l.Name)
		require.False(t, l.Exists)
		require.NoError(t, l.Close())
		p, _ = w.Resolve("q/r/s/t")
		undo, err := w.MakeParents(p)
		require.NoError(t, err)
		require.DirExists(t, filepath.Join(d, "q/r/s"))
		undo()
		require.NoDirExists(t, filepath.Join(d, "q"))
		require.NoError(t, w.Close())
	}
}

package workspace

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// namesIn lists a directory with a buffer for a few names at a time.
func namesIn(t *testing.T, f *Dir) []Name {
	t.Helper()
	var names []Name
	require.NoError(t, f.Names(nil, func(n Name) bool {
		names = append(names, n)
		return true
	}))
	slices.SortFunc(names, func(a, b Name) int { return len(a.Name) - len(b.Name) })
	return names
}

// Dir lists names with their types, also many or unusual ones, and opens files in the directory, in
// both implementations.
func TestDirectory(t *testing.T) {
	for name, openDirectory := range map[string]func(string) (directory, error){"own": openDirectory, "os.Root": openRootDirectory} {
		t.Run(name, func(t *testing.T) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(top+"/f", []byte("text"), 0o644))
			require.NoError(t, os.MkdirAll(top+"/dd/sub", 0o755))
			require.NoError(t, os.WriteFile(top+"/dd/sub/deep", []byte("deep"), 0o644))
			require.NoError(t, os.Symlink("f", top+"/lnk"))
			require.NoError(t, os.Symlink(os.TempDir(), top+"/away"))
			w, err := open(openDirectory, []string{top})
			require.NoError(t, err)
			defer w.Close()
			p, err := w.Resolve(".")
			require.NoError(t, err)
			f, err := w.OpenDir(p)
			require.NoError(t, err)
			defer f.Close()
			require.Equal(t, p, f.Path())
			require.Equal(t, []Name{{"f", 0}, {"dd", fs.ModeDir}, {"lnk", fs.ModeSymlink}, {"away", fs.ModeSymlink}}, namesIn(t, f))

			file, err := f.Open("f")
			require.NoError(t, err)
			data, err := io.ReadAll(file)
			require.NoError(t, err)
			require.NoError(t, file.Close())
			require.Equal(t, "text", string(data))
			info, err := f.Lstat("lnk")
			require.NoError(t, err)
			require.Equal(t, fs.ModeSymlink, info.Mode.Type())

			sub, err := f.Below("dd/sub")
			require.NoError(t, err)
			defer sub.Close()
			require.Equal(t, "dd/sub", sub.Path().Rel())
			require.Equal(t, []Name{{"deep", 0}}, namesIn(t, sub))

			for what, err := range map[string]error{
				"a link":         second(f.Open("lnk")),
				"a link outside": second(f.Below("away")),
				"climbing":       second(f.Below("..")),
				"missing":        second(f.Below("none")),
				"a file":         second(f.Below("f")),
			} {
				require.NotEmpty(t, fault.CodeOf(err), what)
			}
			require.Equal(t, fault.FileNotFound, fault.CodeOf(second(f.Open("none"))))
		})
	}
}

func second[T any](_ T, err error) error { return err }

// Names stops after yield has returned false; a large directory needs several reads.
func TestDirectoryNames(t *testing.T) {
	top := t.TempDir()
	const files = 1000
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(top, fmt.Sprint("file", i)), nil, 0o644))
	}
	w, err := Open(top)
	require.NoError(t, err)
	defer w.Close()
	p, err := w.Resolve(".")
	require.NoError(t, err)
	for _, most := range []int{1, 100, files} {
		f, err := w.OpenDir(p)
		require.NoError(t, err)
		seen := make(map[string]bool)
		require.NoError(t, f.Names(make([]byte, 8<<10), func(n Name) bool {
			seen[n.Name] = true
			return len(seen) < most
		}))
		require.Len(t, seen, most)
		f.Close()
	}
}

// A closed workspace lists nothing and returns not_initialized.
func TestDirectoryOfAClosedWorkspace(t *testing.T) {
	w, err := Open(t.TempDir())
	require.NoError(t, err)
	p, err := w.Resolve(".")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = w.OpenDir(p)
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
}

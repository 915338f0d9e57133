package sandbox

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// gits returns the .git entries in a directory.
func gits(t *testing.T, dir string) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && protectsGit(path) {
			found = append(found, path)
			return nil
		}
		return err
	}))
	slices.Sort(found)
	return found
}

// SB-03: whatever a command does with directories, none of the protected names that it creates
// remains, and the names of the user's do.
func TestTreeFindsEveryName(t *testing.T) {
	for name, limit := range map[string]int{"watched": 1 << 10, "partly watched": 7, "not watched": 0} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, uint64(limit))) //nolint:gosec // the same each time
			for range 6 {
				ws, alive := t.TempDir(), false
				tree, _ := newTree(t, &alive)
				tree.watches = newWatches()
				require.NotNil(t, tree.watches)
				tree.watches.left = limit
				path := func() string {
					p := ws
					for range 1 + r.IntN(4) {
						p += "/" + string(rune('a'+r.IntN(3)))
					}
					return p
				}
				change := func() {
					a, b := path(), path()
					switch r.IntN(9) {
					case 0, 1, 2:
						_ = os.MkdirAll(a, 0o700)
					case 3, 4:
						_ = os.Mkdir(a+"/.git", 0o700)
					case 5:
						_ = os.Rename(a, b)
					case 6:
						_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
					case 7:
						if r.IntN(3) == 0 {
							_ = os.RemoveAll(a)
						}
					case 8:
						_ = os.Symlink(b, a)
					}
				}
				for range 20 {
					for range r.IntN(4) {
						change() // by the user
					}
					before := tree.Begin([]string{ws}, nil)
					require.Equal(t, gits(t, ws), before)
					for range r.IntN(12) {
						change()
					}
					created := gits(t, ws)
					removed, err := tree.End()
					require.NoError(t, err)
					rest := gits(t, ws)
					require.LessOrEqual(t, len(rest), len(before))
					require.ElementsMatch(t, created, append(removed, rest...))
				}
			}
		})
	}
}

// Events that were dropped are made up for by a scan of all directories.
func TestTreeManyEvents(t *testing.T) {
	ws, alive := t.TempDir(), false
	tree, _ := newTree(t, &alive)
	for i := range 20 {
		require.NoError(t, os.MkdirAll(fmt.Sprintf("%s/%d/x", ws, i), 0o700))
	}
	tree.Begin([]string{ws}, nil)
	for i := range 8_500 { // the queue holds 16,384; each renaming is two events
		require.NoError(t, os.Rename(ws+"/0/"+[]string{"x", "y"}[i%2], ws+"/0/"+[]string{"y", "x"}[i%2]))
	}
	git := ws + "/19/x/.git"
	require.NoError(t, os.Mkdir(git, 0o700))
	removed, err := tree.End()
	require.NoError(t, err)
	require.Equal(t, []string{git}, removed)
}

// SB-03: a process that an ended command has left creates, moves and replaces directories while
// scans run. The scan after its end finds every name.
func TestTreeRacesWithScans(t *testing.T) {
	for range 3 {
		ws, alive := t.TempDir(), true
		tree, _ := newTree(t, &alive)
		tree.Begin([]string{ws}, nil)
		var processes sync.WaitGroup
		for p := range 3 {
			processes.Go(func() {
				dir := fmt.Sprintf("%s/%d", ws, p)
				for i := range 25 {
					deep := fmt.Sprintf("%s/%d/a/b/c", dir, i)
					_ = os.MkdirAll(deep, 0o700)
					_ = os.Mkdir(deep+"/.git", 0o700)
					_ = os.Rename(fmt.Sprintf("%s/%d", dir, i), fmt.Sprintf("%s/%d", ws, 1000+i))
					_ = os.Symlink(ws, fmt.Sprintf("%s/%d", dir, i))
					_ = os.MkdirAll(fmt.Sprintf("%s/%d/.git", dir, 1000+i), 0o700)
				}
			})
		}
		for range 6 {
			_, _ = tree.Remove() // parents of a name may have moved: the next scan finds it
		}
		processes.Wait()
		_, _ = tree.End()
		_, err := tree.Remove()
		require.NoError(t, err)
		require.Empty(t, gits(t, ws))
	}
}

// The watches end with the session, and begin again with the next one.
func TestTreeClosesWatches(t *testing.T) {
	ws, alive := t.TempDir(), false
	tree, _ := newTree(t, &alive)
	require.NoError(t, os.Mkdir(ws+"/a", 0o700))
	for i := range 3 {
		tree.Begin([]string{ws}, nil)
		require.Len(t, tree.watches.byNumber, 2)
		_, err := tree.End()
		require.NoError(t, err)
		require.NoError(t, tree.Close())
		require.Nil(t, tree.watches)
		git := fmt.Sprintf("%s/a/%d/.git", ws, i)
		require.NoError(t, os.MkdirAll(git, 0o700))
		require.Contains(t, tree.Begin([]string{ws}, nil), git)
		tree.Cancel()
		require.NoError(t, os.RemoveAll(filepath.Dir(git)))
		require.NoError(t, tree.Close())
	}
}

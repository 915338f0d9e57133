package workspace

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

func TestMakeParents(t *testing.T) {
	onEach(t, func(t *testing.T, start func(...string) *Workspace) {
		top := tree(t, "ws/sub/file x", "outside/", "ws/out ->$/outside", "ws/in ->$/ws2/deep", "ws2/", "ws/new ->a/b/c.txt")
		w := start(top+"/ws", top+"/ws2")

		undo, err := w.MakeParents(resolve(t, w, "sub/x/y/file"))
		require.NoError(t, err)
		require.DirExists(t, top+"/ws/sub/x/y")
		undo()
		require.NoDirExists(t, top+"/ws/sub/x")
		require.DirExists(t, top+"/ws/sub")

		undo, err = w.MakeParents(resolve(t, w, "in/x/file")) // through a link into the second directory
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(top+"/ws2/deep/kept", nil, 0o600))
		undo()
		require.NoDirExists(t, top+"/ws2/deep/x")
		require.FileExists(t, top+"/ws2/deep/kept") // not empty, so it stays

		// FS-63: the parent directories of a link's target
		undo, err = w.MakeParents(resolve(t, w, "new"))
		require.NoError(t, err)
		l, err := w.Locate(resolve(t, w, "new"))
		require.NoError(t, err)
		requireAt(t, top+"/ws/a/b/c.txt", l)
		require.NoError(t, l.Close())
		undo()
		require.NoDirExists(t, top+"/ws/a")

		for path, code := range map[string]fault.Code{
			"out/x/y":                              fault.PathNotInWorkspace,
			"sub/file/x/y":                         fault.PathIsNotADirectory,
			"p/" + strings.Repeat("n", 300) + "/x": fault.InvalidToolParams,
		} {
			undo, err := w.MakeParents(resolve(t, w, path))
			requireCode(t, err, code)
			require.NotNil(t, undo)
		}
		require.NoDirExists(t, top+"/outside/x")
		require.NoDirExists(t, top+"/ws/p") // directories created before the failure are removed

		// A directory that has replaced the created one is not touched.
		undo, err = w.MakeParents(resolve(t, w, "mine/file"))
		require.NoError(t, err)
		require.NoError(t, os.Rename(top+"/ws/mine", top+"/ws/theirs"))
		require.NoError(t, os.Mkdir(top+"/ws/mine", 0o755))
		undo()
		require.DirExists(t, top+"/ws/mine")
		require.DirExists(t, top+"/ws/theirs")
	})
}

func TestDirectoryReplaced(t *testing.T) {
	onEach(t, func(t *testing.T, start func(...string) *Workspace) {
		top := tree(t, "ws/file old")
		w := start(top + "/ws")
		p := resolve(t, w, "file")
		content, err := readAll(w.OpenRead(p))
		require.NoError(t, err)
		require.Equal(t, "old", content)

		require.NoError(t, os.RemoveAll(top+"/ws"))
		_, err = w.Stat(p)
		requireCode(t, err, fault.FileNotFound)
		_, err = w.Locate(p)
		requireCode(t, err, fault.FileNotFound)
		_, err = w.ReadDir(t.Context(), resolve(t, w, "."))
		requireCode(t, err, fault.FileNotFound)

		require.NoError(t, os.Mkdir(top+"/ws", 0o755))
		require.NoError(t, os.WriteFile(top+"/ws/file", []byte("new"), 0o600))
		content, err = readAll(w.OpenRead(p))
		require.NoError(t, err)
		require.Equal(t, "new", content)

		// After renaming and creating the directory again, the one with the name applies.
		require.NoError(t, os.Rename(top+"/ws", top+"/old"))
		require.NoError(t, os.Mkdir(top+"/ws", 0o755))
		require.NoError(t, os.WriteFile(top+"/ws/file", []byte("newer"), 0o600))
		l, err := w.Locate(p)
		require.NoError(t, err)
		content, err = readAll(openAt(l))
		require.NoError(t, err)
		require.Equal(t, "newer", content)
		require.NoError(t, l.Close())

		// A link in its place is refused.
		require.NoError(t, os.RemoveAll(top+"/ws"))
		require.NoError(t, os.Symlink("old", top+"/ws"))
		for _, use := range []func() error{
			func() error { _, err := w.OpenRead(p); return err },
			func() error { _, err := w.Stat(resolve(t, w, "none")); return err },
			func() error { _, err := w.Locate(p); return err },
			func() error { _, err := w.MakeParents(p); return err },
			func() error { _, err := w.ReadDir(t.Context(), resolve(t, w, ".")); return err },
		} {
			requireCode(t, use(), fault.PathNotInWorkspace)
		}
		require.NoError(t, os.Remove(top+"/ws"))
		require.NoError(t, os.Mkdir(top+"/ws", 0o755))

		for _, use := range []func() error{ // each uses the new directory
			func() error { l, err := w.Locate(resolve(t, w, "fresh")); return errors.Join(err, closed(l)) },
			func() error { _, err := w.MakeParents(resolve(t, w, "x/y")); return err },
			func() error { _, err := w.ReadDir(t.Context(), resolve(t, w, ".")); return err },
			func() error { _, err := w.Stat(resolve(t, w, ".")); return err },
		} {
			require.NoError(t, os.RemoveAll(top+"/ws"))
			require.NoError(t, os.Mkdir(top+"/ws", 0o755))
			require.NoError(t, use())
		}
	})
}

func closed(l *Location) error {
	if l == nil {
		return nil
	}
	return l.Close()
}

func TestConcurrentUse(t *testing.T) {
	top := leadsTree(t)
	w, err := Open(top+"/ws", top+"/ws2")
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, tt := range leadCases {
				p, err := w.Resolve(tt.path)
				if err == nil {
					_, err = w.Stat(p)
				}
				if code := fault.CodeOf(err); code != tt.code && code != fault.NotInitialized {
					t.Errorf("%.30q: %v", tt.path, err)
				}
				if l, err := w.Locate(p); err == nil {
					_ = l.Close()
				}
				_ = w.Add(top + "/ws")
			}
		})
	}
	wg.Go(func() { _, _ = w.ReadDir(t.Context(), newPath(top+"/ws", ".")) })
	wg.Wait()
	// Concurrent Close and use: a use is refused, and never reaches the descriptor of another file.
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if _, err := w.Stat(newPath(top+"/ws", "file")); err != nil && fault.CodeOf(err) != fault.NotInitialized {
					t.Error(err)
				}
			}
		})
	}
	require.NoError(t, w.Close())
	wg.Wait()
}

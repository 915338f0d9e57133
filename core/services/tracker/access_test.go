package tracker_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/tracker"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// openCounter counts the files that are opened, and the stat calls.
type openCounter struct {
	*workspace.Workspace
	opens, stats int
}

func (c *openCounter) Stat(p workspace.Path) (workspace.Info, error) {
	c.stats++
	return c.Workspace.Stat(p)
}

func (c *openCounter) OpenRead(p workspace.Path) (*os.File, error) {
	c.opens++
	return c.Workspace.OpenRead(p)
}

// deep returns a tracker for a file three directories down, with instructions in each directory.
func deep(t testing.TB) (*tracker.FileTracker, *openCounter, workspace.Path) {
	t.Helper()
	top := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(top, "a/b/c"), 0o755))
	for _, dir := range []string{".", "a", "a/b", "a/b/c"} {
		require.NoError(t, os.WriteFile(filepath.Join(top, dir, "AGENTS.md"), make([]byte, 64<<10), 0o644))
	}
	w, err := workspace.Open(top)
	require.NoError(t, err)
	t.Cleanup(func() { w.Close() })
	files := &openCounter{Workspace: w}
	p, err := w.Resolve("a/b/c/x.go")
	require.NoError(t, err)
	return tracker.New(tracker.Options{
		State: filestate.New(filestate.Options{Files: w}), Instructions: instructions.New(files, instructions.Options{}),
	}), files, p
}

// An access opens only instructions that are not loaded yet.
func TestKnownInstructionsAreNotOpened(t *testing.T) { // FT-13, FT-16
	tr, files, p := deep(t)
	tr.Accessed(t.Context(), p)
	require.Equal(t, 4, files.opens)
	require.Len(t, tr.LoadedByAccess(), 4)
	tr.Accessed(t.Context(), p)
	require.Equal(t, 4, files.opens, "known by stat")
	tr.ClearSession()
	tr.Accessed(t.Context(), p)
	require.Equal(t, 8, files.opens)
	require.Len(t, tr.LoadedByAccess(), 4)
}

// BenchmarkAccess measures an access whose instructions are loaded already.
func BenchmarkAccess(b *testing.B) {
	tr, files, p := deep(b)
	tr.Accessed(context.Background(), p)
	b.ReportAllocs()
	for b.Loop() {
		tr.Accessed(context.Background(), p)
	}
	require.Equal(b, 4, files.opens)
}

// An access in directories without instruction files makes no stat call for their names.
func TestAccessWithoutInstructions(t *testing.T) { // FT-13
	if runtime.GOOS != "linux" {
		t.Skip("other systems cannot look into a directory without following links")
	}
	top := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(top, "a/b"), 0o755))
	w, err := workspace.Open(top)
	require.NoError(t, err)
	t.Cleanup(func() { w.Close() })
	files := &openCounter{Workspace: w}
	tr := tracker.New(tracker.Options{
		State: filestate.New(filestate.Options{Files: w}), Instructions: instructions.New(files, instructions.Options{}),
	})
	p, err := w.Resolve("a/b/x.go")
	require.NoError(t, err)
	tr.Accessed(t.Context(), p)
	require.Zero(t, files.stats)
	require.NoError(t, os.WriteFile(filepath.Join(top, "a", "agents.md"), []byte("new"), 0o644))
	tr.Accessed(t.Context(), p)
	require.Equal(t, 1, files.stats)
	require.Len(t, tr.LoadedByAccess(), 1)
}

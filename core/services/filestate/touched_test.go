package filestate

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// KH-27: changes by other processes are found by stat alone, reported once, and the record stays.
func TestTouched(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"same", "rewritten", "replaced", "removed", "refused"} {
		f.write(name, "one\n")
		_, err := f.Read(t.Context(), ReadRequest{Path: f.path(name)})
		require.NoError(t, err)
	}
	f.write("never-read", "one\n")
	f.write("rewritten", "other\n")
	f.replace("replaced", "one\n")
	f.write("refused", "other\n")
	f.write("never-read", "other\n")
	require.NoError(t, os.Remove(f.name("removed")))

	resolve := func(path string) (workspace.Path, error) {
		if path == f.name("refused") {
			return workspace.Path{}, errors.New("no")
		}
		return f.disk.Resolve(path)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	changed, gone := f.Touched(ended, resolve)
	require.Empty(t, changed)
	require.Empty(t, gone)

	opens := f.disk.opens
	changed, gone = f.Touched(t.Context(), resolve)
	require.Equal(t, []string{f.name("replaced"), f.name("rewritten")}, changed)
	require.Equal(t, []string{f.name("removed")}, gone)
	require.Equal(t, opens, f.disk.opens, "nothing is opened")
	for _, name := range []string{"same", "rewritten", "replaced", "removed", "refused"} {
		_, ok := f.Cache.ByPath(f.name(name))
		require.True(t, ok, name)
	}
	changed, gone = f.Touched(t.Context(), resolve)
	require.Empty(t, changed, "reported once")
	require.Empty(t, gone)
	require.NoError(t, os.Remove(f.name("rewritten")))
	f.write("removed", "again, and longer\n")
	changed, gone = f.Touched(t.Context(), resolve)
	require.Equal(t, []string{f.name("removed")}, changed, "another change is news")
	require.Equal(t, []string{f.name("rewritten")}, gone)
}

// Files whose stat fails are skipped; with the cache disabled all are.
func TestTouchedFindsNothing(t *testing.T) {
	f := newFixture(t)
	f.write("a", "one\n")
	_, err := f.Read(t.Context(), ReadRequest{Path: f.path("a")})
	require.NoError(t, err)
	f.write("a", "other\n")
	f.disk.statErr = errors.New("disk failure")
	changed, gone := f.Touched(t.Context(), f.disk.Resolve)
	require.Empty(t, append(changed, gone...))
	f.disk.statErr = nil
	f.hidden = true
	changed, gone = f.Touched(t.Context(), f.disk.Resolve)
	require.Empty(t, append(changed, gone...))
	f.hidden = false
	changed, _ = f.Touched(t.Context(), f.disk.Resolve)
	require.Equal(t, []string{f.name("a")}, changed)
}

// A file that changed during its read has no stat data to compare with.
func TestTouchedLeavesTornReads(t *testing.T) {
	f := newFixture(t)
	f.write("a", "one\n")
	f.Cache.recordRead(f.name("a"), reading{info: workspace.Info{Ino: 1, Size: 1}, at: f.clock, torn: true}, 1)
	changed, gone := f.Touched(t.Context(), f.disk.Resolve)
	require.Empty(t, append(changed, gone...))
}

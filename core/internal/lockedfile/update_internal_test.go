package lockedfile

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const limit = 1 << 10

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func adding(text string) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) { return append(old, text...), nil }
}

// A change by a program that does not use the lock is detected, and no temporary file is
// left.
func TestReplaceNotices(t *testing.T) {
	for name, tt := range map[string]struct {
		there, old string
		missing    bool
	}{
		"changed":  {"theirs", "ours", false},
		"appeared": {"theirs", "", true},
		"gone":     {"", "ours", false},
		"grown":    {string(make([]byte, limit+1)), "ours", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a")
			want := 0
			if tt.there != "" {
				require.NoError(t, os.WriteFile(path, []byte(tt.there), 0o644))
				want = 1
			}
			require.ErrorIs(t, replaceIf(path, limit, []byte(tt.old), []byte("new"), tt.missing), errMoved)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, want)
			if tt.there != "" {
				require.Equal(t, tt.there, content(t, path))
			}
		})
	}
}

// A change by another program while change runs is preserved.
func TestUpdateBeginsAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	calls := 0
	require.NoError(t, Update(t.Context(), path, limit, func(old []byte) ([]byte, error) {
		if calls++; calls == 1 {
			require.NoError(t, os.WriteFile(path, []byte("theirs "), 0o640))
		}
		return append(old, "ours"...), nil
	}))
	require.Equal(t, 2, calls)
	require.Equal(t, "theirs ours", content(t, path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm(), "the file keeps its mode")
}

func TestUpdateLeavesWhatStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	require.NoError(t, Update(t.Context(), path, limit, adding("")))
	require.NoFileExists(t, path)
	require.NoError(t, os.WriteFile(path, []byte("a"), 0o600))
	before, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, Update(t.Context(), path, limit, adding("")))
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))
}

func TestUpdateKeepsToTheLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	require.ErrorIs(t, Update(t.Context(), path, 3, adding("abcd")), ErrTooLarge)
	require.NoFileExists(t, path)
	require.NoError(t, os.WriteFile(path, []byte("abcd"), 0o600))
	require.ErrorIs(t, Update(t.Context(), path, 3, adding("")), ErrTooLarge)
	require.EqualError(t, Update(t.Context(), path, 3, adding("")), "it has more than 3 bytes")
}

// A link is followed, even to a missing file; a loop is refused.
func TestUpdateFollowsLinks(t *testing.T) {
	top := t.TempDir()
	link, target := filepath.Join(top, "home", "a"), filepath.Join(top, "dotfiles", "a")
	require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o755))
	require.NoError(t, os.Symlink(filepath.Join("..", "dotfiles", "a"), link))
	for range 2 {
		require.NoError(t, Update(t.Context(), link, limit, adding("x")))
	}
	require.Equal(t, "xx", content(t, target))
	loop := filepath.Join(top, "loop")
	require.NoError(t, os.Symlink(loop, loop))
	require.ErrorIs(t, Update(t.Context(), loop, limit, adding("x")), ErrLoop)
}

// Waiting for another update of the same directory ends with the context.
func TestUpdateWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a")
		unlock, err := lockDirectory(t.Context(), filepath.Dir(path))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, Update(ctx, path, limit, adding("x")), context.DeadlineExceeded)
		require.NoFileExists(t, path)
		unlock()
		require.NoError(t, Update(t.Context(), path, limit, adding("x")))
	})
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	_, err := Read(filepath.Join(dir, "absent"), limit)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Read(dir, limit)
	require.ErrorIs(t, err, ErrNotRegular)
	path := filepath.Join(dir, "a")
	require.NoError(t, os.WriteFile(path, []byte("abc"), 0o600))
	data, err := Read(path, 3)
	require.NoError(t, err)
	require.Equal(t, "abc", string(data))
	_, err = Read(path, 2)
	require.ErrorIs(t, err, ErrTooLarge)
}

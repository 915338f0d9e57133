package memtemp

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// These tests run in memory themselves, where there is such a file system.
func TestMain(m *testing.M) { os.Exit(Of(m).Run()) }

func TestRun(t *testing.T) {
	if _, set := os.LookupEnv("TMPDIR"); !suitable(memory) && !set {
		require.NotContains(t, t.TempDir(), memory+"/")
		return
	}
	require.Contains(t, t.TempDir(), os.Getenv("TMPDIR"))
}

// A directory lasts as long as its process, and one that a killed process has left is
// removed by the next.
func TestCreate(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no file system in memory on this system")
	}
	base := t.TempDir()
	left := filepath.Join(base, "fettle-1.test", "sub")
	require.NoError(t, os.MkdirAll(left, 0o755))
	foreign := filepath.Join(base, "fettle-other")
	require.NoError(t, os.Mkdir(foreign, 0o755))

	first, remove, err := create(base)
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Dir(left))
	require.DirExists(t, foreign)
	info, err := os.Stat(first)
	require.NoError(t, err)
	require.Equal(t, os.ModeDir|os.ModeSticky|0o777, info.Mode(), "other users cannot write to it")

	second, removeSecond, err := create(base)
	require.NoError(t, err)
	require.DirExists(t, first, "it is in use")
	require.NoError(t, os.WriteFile(filepath.Join(second, "file"), nil, 0o644))
	removeSecond()
	remove()
	require.NoDirExists(t, first)
	require.NoDirExists(t, second)

	_, _, err = create(filepath.Join(base, "missing"))
	require.Error(t, err)
	require.False(t, suitable(filepath.Join(base, "missing")))
	require.False(t, suitable("/proc"), "it is no tmpfs")
}

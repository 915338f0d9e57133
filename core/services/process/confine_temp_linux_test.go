package process_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/services/process"
)

// The temporary directory belongs to the Service, and is created on demand.
func TestConfinedTemporaryDirectory(t *testing.T) {
	home := tempDir(t)
	t.Setenv("TMPDIR", home)
	s, ws, out := confinedService(t, process.Options{})
	require.NoError(t, process.New(process.Options{Confinement: landlocked(t, ws)}).Close())
	require.Empty(t, names(t, home))

	dir := strings.TrimSpace(runIn(t, s, ws, out, `echo x > $TMPDIR/kept; mkdir $TMPDIR/locked; chmod 0 $TMPDIR/locked; echo $TMPDIR`).Text)
	require.Equal(t, home, filepath.Dir(dir))
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700)|os.ModeDir, info.Mode())
	require.Contains(t, runIn(t, s, ws, out, "cat $TMPDIR/kept").Text, "x")

	other := newService(t, process.Options{Confinement: landlocked(t, ws)})
	require.NotZero(t, runIn(t, other, ws, out, "echo x > "+dir+"/theirs").Code)

	// If something removes old directories, a new one is created.
	require.NoError(t, os.RemoveAll(dir))
	again := strings.TrimSpace(runIn(t, s, ws, out, "echo $TMPDIR").Text)
	require.NotEqual(t, dir, again)
	require.NoError(t, s.Close())
	require.NoError(t, other.Close())
	require.Empty(t, names(t, home))
}

// Directories whose modes commands have changed are removed too; a failure is reported.
func TestConfinedTemporaryDirectoryLocked(t *testing.T) {
	landlocked(t)
	top, ok := unprivileged.Run(t, func(top string) {
		require.NoError(t, os.Mkdir(filepath.Join(top, "tmp"), 0o777))
		require.NoError(t, os.Chmod(filepath.Join(top, "tmp"), 0o777))
		require.NoError(t, os.Mkdir(filepath.Join(top, "stuck"), 0o777))
		require.NoError(t, os.Chmod(filepath.Join(top, "stuck"), 0o777))
	})
	if !ok {
		return
	}
	t.Setenv("TMPDIR", filepath.Join(top, "tmp"))
	s := process.New(process.Options{Confinement: landlocked(t)})
	r := runIn(t, s, "/", "", `mkdir -p $TMPDIR/a/b/c && echo x > $TMPDIR/a/b/c/f && ln -s / $TMPDIR/a/link && chmod 0 $TMPDIR/a/b/c $TMPDIR/a/b $TMPDIR/a $TMPDIR`)
	require.Zero(t, r.Code, r.Text)
	require.NoError(t, s.Close())
	require.Empty(t, names(t, filepath.Join(top, "tmp")))

	top, err := filepath.EvalSymlinks(top)
	require.NoError(t, err)
	stuck := filepath.Join(top, "stuck", "here")
	require.NoError(t, os.Mkdir(stuck, 0o700))
	t.Setenv("TMPDIR", stuck)
	s = process.New(process.Options{Confinement: landlocked(t)})
	require.Zero(t, runIn(t, s, "/", "", "true").Code)
	require.NoError(t, os.Chmod(stuck, 0o500))
	err = s.Close()
	require.Equal(t, fault.FileWriteFailure, fault.CodeOf(err))
	require.ErrorContains(t, err, stuck)
	require.Equal(t, err, s.Close())
	require.NoError(t, os.Chmod(stuck, 0o700))
}

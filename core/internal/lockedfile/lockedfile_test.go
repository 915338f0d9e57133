package lockedfile_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Concurrent writers lose no update.
func TestNothingIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	require.NoError(t, os.WriteFile(path, []byte("0"), 0o644))
	require.NoError(t, os.WriteFile(path+".tmp", []byte("left by a process that was killed"), 0o644))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			unlock, err := lockedfile.Lock(t.Context(), path+".lock")
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			old, _ := os.ReadFile(path)
			n, _ := strconv.Atoi(string(old))
			if err := lockedfile.Replace(path, []byte(strconv.Itoa(n+1))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "20", string(text))
	require.NoFileExists(t, path+".tmp")
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, lockedfile.FileMode, info.Mode().Perm())
	}
}

func TestLockEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockedfile.Lock(t.Context(), path)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := lockedfile.Lock(ctx, path)
		failed <- err
	}()
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	unlock()
	unlock, err = lockedfile.Lock(t.Context(), path)
	require.NoError(t, err)
	unlock()
}

// A free lock is taken after the deadline, which may have passed while the file was opened; a taken
// one is not waited for, and a cancelled call takes none.
func TestLockAfterItsDeadline(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancel()
	unlock, err := lockedfile.Lock(late, path)
	require.NoError(t, err)
	_, err = lockedfile.Lock(late, path)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	unlock()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = lockedfile.Lock(cancelled, path)
	require.ErrorIs(t, err, context.Canceled)
}

func TestLockIfFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockedfile.LockIfFree(path)
	require.NoError(t, err)
	_, err = lockedfile.LockIfFree(path)
	require.ErrorIs(t, err, lockedfile.ErrBusy)
	unlock()
	unlock, err = lockedfile.LockIfFree(path)
	require.NoError(t, err)
	unlock()
	_, err = lockedfile.LockIfFree(filepath.Join(path, "none"))
	require.Error(t, err)
}

func TestReplaceLeavesNothingBehindWhenItFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "full"), 0o700))
	require.Error(t, lockedfile.Replace(path, []byte("x")))
	require.NoFileExists(t, path+".tmp")
	_, err := lockedfile.Lock(t.Context(), filepath.Join(dir, "none", "lock"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

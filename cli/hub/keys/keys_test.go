package keys_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/keys"
)

// HB-02: users that several processes create at once are all kept.
func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	d := keys.Dir(filepath.Join(t.TempDir(), "hub"))
	errs := make([]error, 8)
	var work sync.WaitGroup
	for i := range errs {
		work.Go(func() { _, errs[i] = d.Add(keys.User{Name: fmt.Sprint("u", i), Roles: []keys.Role{keys.Viewer}}) })
	}
	work.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	all, err := d.Users()
	require.NoError(t, err)
	require.Len(t, all, len(errs))
}

func TestTryLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := keys.TryLock(path)
	require.NoError(t, err)
	_, err = keys.TryLock(path)
	require.ErrorIs(t, err, keys.ErrLocked)
	unlock()
	unlock, err = keys.TryLock(path)
	require.NoError(t, err)
	unlock()
}

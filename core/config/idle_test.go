package config_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
)

// A process may hold thousands of mostly idle sessions: ten thousand in 200 MB of
// resident memory, about a quarter of which is not reachable heap, so 14 kB of heap each,
// without goroutines or descriptors of their own. An unused derived one takes a
// fifth of that.
func TestIdleConfigsAreSmall(t *testing.T) {
	const configs, budget = 200, 14_000
	dir, home := t.TempDir(), t.TempDir()
	begin := func() *config.Config {
		c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: home}})
		require.NoError(t, err)
		require.NoError(t, c.Initialize(t.Context()))
		return c
	}
	parent := begin() // including state that the process creates once
	defer func() { require.NoError(t, parent.Close()) }()
	for name, of := range map[string]struct {
		begin  func() *config.Config
		budget int64
	}{
		"made": {begin, budget},
		"derived": {func() *config.Config {
			c, err := parent.Derive(config.DeriveParameters{})
			require.NoError(t, err)
			return c
		}, budget / 5},
	} {
		t.Run(name, func(t *testing.T) {
			all := make([]*config.Config, configs)
			goroutines, descriptors, before := runtime.NumGoroutine(), openDescriptors(), liveHeap()
			for i := range all {
				all[i] = of.begin()
			}
			each := (liveHeap() - before) / configs
			t.Logf("%d bytes each", each)
			require.LessOrEqual(t, each, of.budget)
			require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
			require.LessOrEqual(t, openDescriptors(), descriptors)
			for _, c := range all {
				require.NoError(t, c.Close())
			}
		})
	}
}

// liveHeap returns how many bytes are reachable.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // objects that were waiting for their finalizer
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// openDescriptors returns the number of open files of the process, 0 on systems
// that do not report it.
func openDescriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

package config_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
)

// A process may hold thousands of sessions of which few do anything: ten thousand
// in 200 MB, so 20 kB each, and none has a goroutine or a descriptor of its own.
// One that was derived and has not been used is a fifth of that.
func TestIdleConfigsAreSmall(t *testing.T) {
	const configs, budget = 200, 20_000
	dir, home := t.TempDir(), t.TempDir()
	begin := func() *config.Config {
		c, err := config.New(config.Parameters{TargetDir: dir, HomeDir: home})
		require.NoError(t, err)
		require.NoError(t, c.Initialize(t.Context()))
		return c
	}
	parent := begin() // with what the process makes once
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
	runtime.GC() // what was only waiting for its finalizer
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// openDescriptors returns how many files the process has open, 0 where the system
// does not say.
func openDescriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

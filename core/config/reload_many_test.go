package config_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// Sessions that begin, reload, derive and close concurrently, with a file that
// changes meanwhile, leave nothing behind.
func TestReloadBesideEverything(t *testing.T) {
	p := config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir()}, Session: config.Session{WatchSettings: true}}
	withUser(t, `{"approvalMode": "auto_edit"}`)(&p)
	runtime.GC()
	files, before := descriptors(t), runtime.NumGoroutine()
	for i := range 60 {
		c, err := config.New(p)
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { _ = c.Initialize(t.Context()) })
			wg.Go(func() {
				for range 10 {
					_ = c.Settings().Reload(t.Context())
					if child, err := c.Derive(config.DeriveParameters{}); err == nil {
						_, _ = child.ToolRegistry()
						_ = child.ApprovalMode()
						_ = child.Close()
					}
					_ = c.SetApprovalMode(policy.ModePlan)
					c.SetFileReadCacheDisabled(true)
				}
			})
		}
		wg.Go(func() {
			settingsIn(t, p.Environment.HomeDir, fmt.Sprintf(`{"approvalMode": "plan", "fileFiltering": {"maxFileCount": %d}}`, i+1))
		})
		wg.Go(func() {
			for range i % 20 { // a little later each time
				_, _ = c.Settings().Current()
				runtime.Gosched()
			}
			_ = c.Close()
		})
		wg.Wait()
		require.NoError(t, c.Close())
		for _, err := range []error{c.Settings().Reload(t.Context()), c.Initialize(t.Context())} {
			require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
		}
	}
	require.LessOrEqual(t, goroutines(before), before)
	require.LessOrEqual(t, descriptors(t), files)
}

// Concurrent reloads and calls.
func TestReloadConcurrently(t *testing.T) {
	s := configtest.New(t, withUser(t, `{}`))
	home := filepath.Dir(storageOf(t, s.Config).GlobalDir)
	texts := []string{`{"fileFiltering": {"maxFileCount": 3}}`, `{"approvalMode": "plan"}`, `{"tools": {"exclude": ["glob"]}}`, `{`}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			child, err := s.Derive(config.DeriveParameters{})
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 10 {
				settingsIn(t, home, texts[(i+j)%len(texts)])
				if err := child.Settings().Reload(t.Context()); err != nil {
					t.Error(err)
				}
				child.ApprovalMode()
				call(t, child, "glob", map[string]any{"pattern": "*"})
			}
			if err := child.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, s.Close())
	require.Equal(t, fault.NotInitialized, fault.CodeOf(s.Settings().Reload(t.Context())))
}

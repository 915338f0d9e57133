package config

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
)

// AR-05, RC-24: an unused derived Config creates no service, whatever plain
// values are read from it, and so requires no shutdown.
func TestDerivedIsLazy(t *testing.T) {
	c, err := New(Parameters{TargetDir: t.TempDir(), Environment: Environment{HomeDir: t.TempDir()}})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	defer func() { require.NoError(t, c.Close()) }()
	for range 10 {
		child, err := c.Derive(DeriveParameters{})
		require.NoError(t, err)
		child.ApprovalMode()
		child.Model()
		child.SetFileReadCacheDisabled(true)
		_, err = child.Settings().Current()
		require.NoError(t, err)
		_, err = child.Workspace()
		require.NoError(t, err)
		require.Nil(t, child.session)
		require.Empty(t, c.shared.processes.opened)
		require.NoError(t, child.Close())
	}
}

// AR-05: a conversation has no process service before its first use. Concurrent
// first uses create one. After Close commands are refused, used or not.
func TestLazyService(t *testing.T) {
	p := Parameters{TargetDir: t.TempDir(), Environment: Environment{HomeDir: t.TempDir()}}
	parent, err := New(p)
	require.NoError(t, err)
	require.NoError(t, parent.Initialize(t.Context()))
	defer func() { require.NoError(t, parent.Close()) }()
	for name, begin := range map[string]func() (*Config, error){
		"made": func() (*Config, error) {
			c, err := New(p)
			if err != nil {
				return nil, err
			}
			return c, c.Initialize(t.Context())
		},
		"derived": func() (*Config, error) { return parent.Derive(DeriveParameters{}) },
	} {
		for use, times := range map[string]int{"unused": 0, "used": 8} {
			t.Run(name+" "+use, func(t *testing.T) {
				c, err := begin()
				require.NoError(t, err)
				s, err := c.own("test")
				require.NoError(t, err)
				all := s.processes.all
				require.Empty(t, s.processes.List())
				require.Nil(t, s.processes.opened)
				require.Empty(t, all.opened)
				services := make([]*process.Service, times)
				var using sync.WaitGroup
				for i := range services {
					using.Go(func() { services[i] = s.processes.service() })
				}
				using.Wait()
				for _, service := range services {
					require.NotNil(t, service)
					require.Same(t, services[0], service)
				}
				require.Len(t, all.opened, min(times, 1))
				require.NoError(t, c.Close())
				require.Equal(t, times > 0, s.processes.opened != nil)
				_, err = s.processes.Run(t.Context(), process.Command{Line: "true", Dir: p.TargetDir})
				require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
				_, err = s.processes.Start(t.Context(), process.Command{Line: "true", Dir: p.TargetDir})
				require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
				require.Empty(t, all.opened)
			})
		}
	}
}

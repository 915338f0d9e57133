package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// AR-05, RC-24: an unused derived Config creates no service, whatever plain
// values are read from it, and so requires no shutdown.
func TestDerivedIsLazy(t *testing.T) {
	c, err := New(Parameters{TargetDir: t.TempDir(), Environment: Environment{HomeDir: t.TempDir()}})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	defer func() { require.NoError(t, c.Close()) }()
	opened := len(c.shared.processes.opened)
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
		require.Len(t, c.shared.processes.opened, opened)
		require.NoError(t, child.Close())
	}
}

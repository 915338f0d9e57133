package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
)

// AR-05, RC-24: a derived Config that nobody uses makes no service, whatever
// plain values it is asked for, and so needs nothing to be ended.
func TestDerivedIsLazy(t *testing.T) {
	c, err := New(Parameters{TargetDir: t.TempDir(), HomeDir: t.TempDir()})
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
		_, err = child.Settings()
		require.NoError(t, err)
		_, err = child.Workspace()
		require.NoError(t, err)
		require.Nil(t, child.session)
		require.Len(t, c.shared.processes.opened, opened)
		require.NoError(t, child.Close())
	}
}

// The service of hooks is made by the first that runs, once; and where that comes
// after the end of the session it runs nothing.
func TestServiceOfHooksIsLazy(t *testing.T) {
	c, err := New(Parameters{TargetDir: t.TempDir(), HomeDir: t.TempDir()})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	sh := c.shared
	require.Len(t, sh.processes.opened, 1, "the conversation's own")
	own := sh.hooks.service(false)
	require.Same(t, own, sh.hooks.service(false))
	require.Len(t, sh.processes.opened, 2)
	require.NoError(t, c.Close())
	require.Same(t, own, sh.hooks.service(false))
	for _, limited := range []bool{false, true} {
		_, err := sh.hooks.service(limited).Program(t.Context(), process.Program{Line: "true"})
		require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
	}
}

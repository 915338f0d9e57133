package mcp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// AR-32: servers are added and removed while others stay connected.
func TestAddAndRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stays, comes, again := newFake(tool("a")), newFake(tool("b")), newFake(tool("c"))
		told := new(changes)
		d := dialer{"stays": stays.dial, "comes": comes.dial}
		m := manage(t, mcp.Options{Changed: told.told, Servers: []mcp.Configured{stdio("stays")}, Dialer: d})
		require.True(t, m.Settled(t.Context()))
		require.False(t, m.Has("comes"))

		m.Add(stdio("comes"), stdio("stays"))
		require.True(t, m.Has("comes"))
		require.Empty(t, m.Tools("comes"), "it is not started yet")
		m.Start(t.Context(), "comes")
		require.True(t, m.Settled(t.Context(), "comes"))
		b := lookUp(t, m, "comes", "b")
		require.Len(t, m.Status(), 2)

		require.NoError(t, m.Remove(t.Context(), "comes"))
		require.NoError(t, m.Remove(t.Context(), "comes"))
		require.Equal(t, 1, comes.count(&comes.closed), "its connection has ended")
		require.False(t, m.Has("comes"))
		require.Empty(t, m.Tools("comes"))
		require.Len(t, m.Status(), 1)
		require.Equal(t, fault.MCPServerUnavailable, call(t.Context(), t, b, `{}`).Error.Code)
		require.Equal(t, 0, stays.count(&stays.closed))
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(m.Restart(t.Context(), "comes")))

		d["comes"] = again.dial
		m.Add(stdio("comes"))
		m.Start(t.Context())
		require.True(t, m.Settled(t.Context(), "comes"))
		require.Equal(t, []string{"c"}, status(t, m, "comes").Tools)
		time.Sleep(time.Minute)
		require.Equal(t, 1, comes.count(&comes.closed), "the one of before is not tried again")
	})
}

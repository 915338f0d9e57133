package mcp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// EX-17: a server's name cannot denote other servers in rules and lists, and is
// displayed exactly; a server with an invalid name is listed with the reason and
// not dialed.
func TestServerNames(t *testing.T) {
	for name, good := range map[string]bool{
		"a": true, "my server": true, "über.the:top/x": true, "書架": true, `a"b`: true,
		"": false, " ": false, "*": false, "a*": false, " a": false, "a ": false, "a\nb": false, "a\tb": false, "a\x1b[2J": false,
		"a\x00": false, "a\u202eb": false, "a\u00a0b": false, "a\u200bb": false, "\xff": false,
	} {
		err := mcp.CheckServerName(name)
		require.Equal(t, good, err == nil, "%q: %v", name, err)
		s := newFake(tool("z"))
		m := mcp.NewManager(mcp.Options{Dialer: dialer{name: s.dial}, Servers: []mcp.Configured{{ServerSpec: mcp.ServerSpec{Name: name, Command: "x", Trusted: true}}}})
		m.Start(t.Context())
		require.True(t, m.Settled(t.Context()))
		status := m.Status()[0]
		require.Equal(t, good, status.State == mcp.StateConnected, "%q", name)
		if !good {
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), "%q", name)
			require.NotEmpty(t, fault.As(err).Remedy)
			require.Equal(t, err, status.Error)
			require.Empty(t, m.Tools(name))
		}
		require.NoError(t, m.Close())
	}
}

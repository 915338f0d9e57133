package tools_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/tools"
)

// EX-16: each tool of an MCP server has a unique valid name that leads back to it. The names depend on the set of
// tools, not on their order. A server that connects and disconnects leaves the names of others unchanged.
func FuzzNames(f *testing.F) {
	fuzzseed.Add(f)
	for _, s := range [][4]string{
		{"a", "x", "b", "x"}, {"a_b", "c", "a", "b_c"}, {"a.b", "c", "a_b", "c"}, {"a", "mcp_a_x", "a", "x"}, {"a", "x.y", "a", "x:y"}, {"", "", " ", "*"},
		{"über", "天気", "\xff", "\x00"}, {strings.Repeat("s", 90), "a", strings.Repeat("s", 90), "b"}, {"s", strings.Repeat("t", 59), "s", strings.Repeat("t", 60)},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	f.Fuzz(func(t *testing.T, server1, tool1, server2, tool2 string) {
		for _, id := range [][2]string{{server1, tool1}, {server2, tool2}} {
			name := tools.QualifiedName(id[0], id[1])
			require.NoError(t, tools.CheckName(name))
			require.True(t, strings.HasPrefix(name, "mcp_"))
			require.NotContains(t, name, ".")
			require.NotContains(t, name, ":")
			prefix := "mcp_" + id[0] + "_"
			if whole := prefix + id[1]; len(whole) <= tools.MaxNameLength && !strings.HasPrefix(id[1], prefix) {
				require.Equal(t, name, tools.QualifiedName(id[0], whole), "a tool with such a name of its own")
			}
		}
		if server1 == "" || tool1 == "" || server2 == "" || tool2 == "" || server1 == server2 && tool1 == tool2 {
			return // no server, or fewer than two tools
		}
		first, second := offered(server1, tool1), offered(server2, tool2)
		alone := tools.NewRegistry(tools.RegistryOptions{})
		require.NoError(t, alone.Offer(server1, first))
		one, other := tools.NewRegistry(tools.RegistryOptions{}), tools.NewRegistry(tools.RegistryOptions{})
		for _, r := range []*tools.Registry{one, other} {
			require.NoError(t, r.Register(first[0]))
			if r == other {
				require.NoError(t, r.Offer(server1, nil))
				require.Empty(t, r.All())
			}
			require.NoError(t, r.Register(second[0]))
			if r == other {
				require.NoError(t, r.Register(first[0]))
			}
		}
		require.Len(t, whose(t, one), 2)
		require.Equal(t, whose(t, one), whose(t, other), "in reverse order")
		if server1 != server2 {
			require.NoError(t, one.Offer(server2, nil))
			require.Equal(t, whose(t, alone), whose(t, one), "without the second server")
		}
	})
}

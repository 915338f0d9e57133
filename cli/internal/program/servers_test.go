package program

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools"
)

// A call starts a server only if the tool can belong to it, also for encoded and
// shortened names.
func TestServersOfATool(t *testing.T) {
	long, longer := strings.Repeat("s", 40), strings.Repeat("s", 80)
	for _, tt := range []struct {
		tool, server string
		may          bool
	}{
		{"mcp_ab_x", "ab", true},
		{"mcp_abc_x", "ab", false},
		{"mcp_ab_c_x", "ab", true},
		{"mcp_ab_c_x", "ab_c", true},
		{"mcp_ab", "ab", false},
		{"mcp_my_server_x", "my server", true},
		{"ab_x", "ab", false},
		{tools.QualifiedName(long, "x"), long, true},
		{tools.QualifiedName(long, longer), long, true},
		{tools.QualifiedName(longer, "x"), longer, true},
		{tools.QualifiedName(longer, "x"), "s", false},
		// With a longer hash, as for names that would collide.
		{tools.QualifiedName(longer, "x")[:46] + "_" + strings.Repeat("0", 16), longer, true},
		{tools.QualifiedName(longer, "x")[:30] + "_" + strings.Repeat("0", 32), long, true},
		{strings.Repeat("x", 30) + "_" + strings.Repeat("0", 32), long, false},
	} {
		require.Equal(t, tt.may, mayBelongTo(tt.tool, tt.server), "%s of %s", tt.tool, tt.server)
	}
}

package mcp

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// A server name cannot break the layout of the table, or of the text below it.
func TestServerListIsOfLines(t *testing.T) {
	var out bytes.Buffer
	p := &program.Program{Out: &out}
	require.NoError(t, listServers(p, []serverListing{
		{Name: "a\nb\tc\x1b[2J", State: mcp.StateBlocked, Source: "x\ny", Error: fault.New(fault.InvalidConfig, "t", "It is\nwrong.", "Mend it.")},
		{Name: "slow", State: mcp.StateConnecting},
	}))
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 8, out.String())
	require.True(t, strings.HasPrefix(lines[1], "a b c<U+001B>[2J  blocked"), lines[1])
	require.True(t, strings.HasSuffix(lines[1], "  x y"), lines[1])
	require.True(t, strings.HasPrefix(lines[4], "a b c<U+001B>[2J: It is wrong."), lines[4])
	require.Contains(t, lines[6], "slow: Not connected yet")
}

package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/services/filestate"
)

// ClientLimit is how much text of one result an MCP client passes on to its model
// whole. What is longer it cuts.
type ClientLimit struct {
	Client string // what the name begins with by which the client calls itself, in lower case
	Bytes  int    // no more than the client's own limit, which counts characters
}

// DefaultResultBytes bounds the text of one result where nothing else does: of a
// session in the same process, and of a client in no row of [ClientLimits].
const (
	DefaultResultBytes       = 256 << 10
	DefaultClientResultBytes = 8000
)

// ClientLimits returns the limits of known MCP clients. docs/mcp.md has the table.
func ClientLimits() []ClientLimit {
	return []ClientLimit{
		// gemini-cli, "gemini-cli-mcp-client-SERVER": of a result of more than 40,000
		// characters it shows the first 8,000 and the last 32,000. Measured.
		{"gemini-cli", 36_000},
		// qwen-code, "qwen-cli-mcp-client-SERVER": it shows about 2,500 characters of a
		// long result. Measured.
		{"qwen-cli", 2400},
		{"qwen-code", 2400},
	}
}

// ClientResultBytes returns how many bytes of text one result for an MCP client may
// have that calls itself name; case does not matter, and "" is unknown.
func ClientResultBytes(name string) int {
	name = strings.ToLower(name)
	rows := ClientLimits()
	i := slices.IndexFunc(rows, func(l ClientLimit) bool { return strings.HasPrefix(name, l.Client) })
	if i < 0 {
		return DefaultClientResultBytes
	}
	return rows[i].Bytes
}

// limits returns the limits of a session.
func (c *Config) limits() filestate.Limits {
	l := c.params().Limits
	l.ResultBytes = cmp.Or(l.ResultBytes, DefaultResultBytes)
	return l
}

// fitClient bounds the results of a session by what an MCP client passes on, unless
// the parameters or the settings bound them. A session that others use too keeps the
// smaller limit.
func (c *Config) fitClient(s *session, client string, alone bool) {
	if c.params().Limits.ResultBytes != 0 {
		return
	}
	bytes := ClientResultBytes(client)
	if !alone {
		bytes = min(bytes, s.state.ResultBytes())
	}
	s.state.SetResultBytes(bytes)
}

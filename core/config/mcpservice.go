package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/internal/contextfiles"
	"github.com/fettle-dev/fettle/core/config/internal/serving"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/services/filestate"
)

// MCPServiceOptions say how a Config serves an MCP client. The zero value serves
// one client that has a session, and leaves the Config open.
type MCPServiceOptions struct {
	// Stateless serves one request of a client that has no session: a Config
	// derived for it, with a message bus of its own and without a session (see
	// Parameters.NoSession), which ends with the service. Nothing that a person
	// approves lasts, and nothing is watched.
	Stateless bool
	// Owned says that the Config serves nobody else: it is closed with the service,
	// and questions that come with no call are this client's.
	Owned bool
	// AllTools serves every registered tool. Otherwise those are left out that only
	// serve a conversation which fettle has itself: ask_user, write_todos,
	// enter_plan_mode, exit_plan_mode, get_internal_docs, save_memory, tool_search
	// and subagents, unless Parameters.CoreTools names them.
	AllTools bool
	// Client is the name by which the client calls itself, "" where it is unknown. It
	// decides how long results may be: [ClientResultBytes], unless Parameters.Limits
	// or the settings do. A Config that serves others too keeps the smallest limit.
	Client string
	// WatchFiles announces changes of instruction files as they happen, once the
	// resources have been listed. It takes one watcher of the operating system's,
	// of which there are not many; without one nothing is announced.
	WatchFiles bool
}

// MCPService returns what serves the tools of c to an MCP client (EX-20). A call
// goes through the scheduler, so that policy decides about it; what it asks of a
// person is put to the client that calls, by [tools.HostOf], and to nobody else.
// Several services of one Config share its file state and its approvals: a client
// that is to have its own gets a Config of its own. The error is of code
// not_initialized.
func (c *Config) MCPService(o MCPServiceOptions) (*mcp.Service, error) {
	owned := o.Owned
	if o.Stateless {
		derived, err := c.Derive(DeriveParameters{NoSession: true, OwnBus: true})
		if err != nil {
			return nil, err
		}
		c, owned = derived, true
	}
	own, err := c.own("MCPService")
	if err != nil {
		if o.Stateless {
			_ = c.Close() // always nil: it has started nothing
		}
		return nil, err
	}
	sh := own.shared
	c.fitClient(own, o.Client, owned)
	session := serving.Session{
		Bus: c.bus, Registry: own.registry, Scheduler: own.scheduler, State: own.state, Tracker: own.tracker,
		Folder: sh.workspace.Target(), CoreTools: c.CoreTools, Changes: &c.toolsChanged,
		Files: func() (contextfiles.Finder, error) {
			sh, err := c.services("MCPService")
			if err != nil {
				return contextfiles.Finder{}, err
			}
			return c.contextFiles(sh), nil
		},
		Now:   c.params().Now,
		Close: func() error { return nil },
	}
	if owned {
		session.Close = c.Close
	}
	return serving.New(session, serving.Options{Stateless: o.Stateless, Alone: owned, AllTools: o.AllTools, WatchFiles: o.WatchFiles}), nil
}

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

package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/internal/contextfiles"
	"github.com/fettle-dev/fettle/core/config/internal/serving"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/services/filestate"
)

// MCPServiceOptions configures how a Config serves an MCP client. The zero value
// serves one client with a session, and leaves the Config open.
type MCPServiceOptions struct {
	// Stateless serves one request of a client without a session: it derives a
	// Config with a message bus of its own and without a session (see
	// Parameters.Session.NoSession), which is closed with the service. Approvals do not
	// outlast the request, and changes are not watched.
	Stateless bool
	// Owned states that the Config serves no other client: it is closed with the
	// service, and questions without a call go to this client.
	Owned bool
	// AllTools serves every registered tool. Otherwise tools are omitted that
	// serve only fettle's own conversation: ask_user, write_todos,
	// enter_plan_mode, exit_plan_mode, get_internal_docs, save_memory,
	// tool_search, activate_skill and subagents, unless Parameters.Tools.Core names them.
	AllTools bool
	// Client is the name that the client reports, "" if it is unknown. It
	// determines the maximum length of results, as listed in docs/mcp.md, unless
	// Parameters.Session.Limits or the settings set one. A Config that serves several
	// clients uses the smallest limit.
	Client string
	// WatchFiles announces changes of instruction files once the resources have
	// been listed. It uses one watcher of the operating system, which are scarce;
	// without one no changes are announced.
	WatchFiles bool
}

// Serve returns the service that offers c's tools to an MCP client. A call
// goes through the scheduler, so that policy applies; its questions go only to
// the client that calls, by host.FromContext. Several services of one Config share
// its file state and its approvals: give a client that requires its own state a
// Config of its own. The error has code not_initialized.
func (x MCPServices) Serve(o MCPServiceOptions) (*mcpservice.Service, error) {
	c := x.c

	owned := o.Owned
	if o.Stateless {
		derived, err := c.Derive(DeriveParameters{NoSession: true, OwnBus: true})
		if err != nil {
			return nil, err
		}
		c, owned = derived, true
	}
	own, err := c.own("MCP.Serve")
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
		Dir: sh.workspace.Target(), CoreTools: c.CoreTools, Changes: &c.toolsChanged,
		Files: func() (contextfiles.Finder, error) {
			sh, err := c.services("MCP.Serve")
			if err != nil {
				return contextfiles.Finder{}, err
			}
			return c.contextFiles(sh), nil
		},
		Now:   c.params().Environment.Now,
		Close: func() error { return nil },
	}
	if owned {
		session.Close = c.Close
	}
	return serving.New(session, serving.Options{Stateless: o.Stateless, Alone: owned, AllTools: o.AllTools, WatchFiles: o.WatchFiles}), nil
}

// clientLimit is the maximum size of a result that an MCP client passes on to its
// model completely. Clients shorten longer results.
type clientLimit struct {
	client string // a lower-case prefix of the name that the client reports
	bytes  int    // at most the client's own limit, which counts characters
}

// defaultResultBytes limits the text of one result if nothing else does: for a
// session in the same process, and for a client without a row in [clientLimits].
const (
	defaultResultBytes       = 256 << 10
	defaultClientResultBytes = 8000
)

// clientLimits returns the limits of known MCP clients. docs/mcp.md has the
// table.
func clientLimits() []clientLimit {
	return []clientLimit{
		// gemini-cli, "gemini-cli-mcp-client-SERVER": of a result of more than
		// 40,000 characters it shows the first 8,000 and the last 32,000.
		// Measured.
		{"gemini-cli", 36_000},
		// qwen-code, "qwen-cli-mcp-client-SERVER": it shows about 2,500
		// characters of a long result. Measured.
		{"qwen-cli", 2400},
		{"qwen-code", 2400},
	}
}

// clientResultBytes returns the maximum number of bytes of one result for an MCP
// client with the given name. Case is ignored, and "" is an unknown client.
func clientResultBytes(name string) int {
	name = strings.ToLower(name)
	rows := clientLimits()
	i := slices.IndexFunc(rows, func(l clientLimit) bool { return strings.HasPrefix(name, l.client) })
	if i < 0 {
		return defaultClientResultBytes
	}
	return rows[i].bytes
}

// limits returns the limits of a session.
func (c *Config) limits() filestate.Limits {
	l := c.params().Session.Limits
	l.ResultBytes = cmp.Or(l.ResultBytes, defaultResultBytes)
	return l
}

// fitClient limits the results of a session to the size that an MCP client passes
// on, unless the parameters or the settings set a limit. A session with several
// clients keeps the smaller limit.
func (c *Config) fitClient(s *session, client string, alone bool) {
	if c.params().Session.Limits.ResultBytes != 0 {
		return
	}
	bytes := clientResultBytes(client)
	if !alone {
		bytes = min(bytes, s.state.ResultBytes())
	}
	s.state.SetResultBytes(bytes)
}

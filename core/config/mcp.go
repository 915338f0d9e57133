package config

import (
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/core/config/internal/elicit"
	"github.com/fettle-dev/fettle/core/config/internal/servers"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/discovered"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// MCP configures the MCP servers of a session. The zero value is none.
type MCP struct {
	// Dial creates the dialer for servers, as core/standard does. It is called at
	// Initialize, once the settings are known, and only if there are servers.
	// nil: no server is used, whatever Servers and the settings contain.
	Dial func(MCPEnvironment) mcp.Dialer
	// Servers are the embedder's own, in addition to those of the settings; one
	// with the same name replaces the settings' server. Dir of a spec is
	// absolute, or "" for the target directory. Invalid ones are listed with the
	// reason, like those of the settings.
	Servers []mcp.ServerSpec
	// Later leaves the servers unconnected until [mcp.Manager.Start] is called.
	// Otherwise Initialize starts to connect them, and does not wait.
	Later bool
	// Disabled disables all servers; no setting enables them.
	Disabled bool
	// allowed lists the only servers that the settings allow, nil for all, and
	// excluded those that they exclude even then, by name in any case; "*" stands
	// for all.
	allowed, excluded []string

	settings servers.Settings // set by fill
}

// MCPEnvironment is the environment for connections to MCP servers.
type MCPEnvironment struct {
	Dir string // absolute default working directory of servers
	// TokenFile is the file for the tokens of signed-in users; "": none, because
	// there is no home directory.
	TokenFile string
	// StartConfined starts the process of a server with Sandbox, as
	// [process.Service.StartConfined] does; ended is called once the process has
	// ended.
	StartConfined func(ctx context.Context, cmd *exec.Cmd) (ended func(), err error)
	Now           func() time.Time
	Logger        *slog.Logger
}

// tokenFile is the name of the token file in the user's directory.
const tokenFile = "auth-cache.json"

// Manager returns the manager of the session's MCP servers, or nil if the session has
// none. Derived Configs share their parent's; it is closed with the parent. The
// error has code not_initialized.
func (x MCPServices) Manager() (*mcp.Manager, error) {
	c := x.c

	sh, err := c.services("MCP.Manager")
	if err != nil {
		return nil, err
	}
	return sh.servers.Load(), nil
}

// mcpServers returns the servers of the session, those of the embedder first.
func (c *Config) mcpServers(target string) []mcp.Configured {
	p := c.params().MCP
	if p.Dial == nil || p.Disabled {
		return nil
	}
	return c.servers().All(target)
}

// servers returns the servers of the session, including those that may not be
// used.
func (c *Config) servers() servers.Set {
	p := c.params().MCP
	return servers.Set{Own: p.Servers, Settings: p.settings, Brought: c.brought().Servers, Allowed: p.allowed, Excluded: p.excluded}
}

// fillServers applies the servers of the settings and the settings for all
// servers.
func (p *Parameters) fillServers(s settings.Settings, r *settings.Result) {
	m := &p.MCP
	m.Disabled = m.Disabled || !s.MCP.Enabled
	if m.allowed == nil && r.OriginOf("mcp.allowed").Source != "" {
		m.allowed = append([]string{}, s.MCP.Allowed...)
	}
	m.excluded = slices.Concat(m.excluded, s.MCP.Excluded)
	m.settings = servers.OfSettings(s, r)
}

// openServers creates the manager of the servers, or returns nil without servers.
// It starts nothing.
func (c *Config) openServers(sh *shared) *mcp.Manager {
	target := sh.workspace.Target()
	servers := c.mcpServers(target)
	if len(servers) == 0 {
		return nil
	}
	p := c.params()
	return mcp.NewManager(mcp.Options{
		Dialer:  p.MCP.Dial(c.mcpEnvironment(sh)),
		Servers: servers,
		Elicit:  elicit.Elicitor{Bus: c.bus}.Ask,
		Roots:   func() []string { return sh.workspace.Directories() },
		Changed: c.offer,
		Logger:  p.Environment.Logger,
	})
}

// mcpEnvironment returns the environment for connections.
func (c *Config) mcpEnvironment(sh *shared) MCPEnvironment {
	p := c.params()
	env := MCPEnvironment{Dir: sh.workspace.Target(), StartConfined: c.startServer(sh), Now: p.Environment.Now, Logger: p.Environment.Logger}
	if dir, err := c.userDir(); err == nil {
		env.TokenFile = filepath.Join(dir, tokenFile)
	}
	return env
}

// Server returns the spec of one of the session's MCP servers, including one
// that may not be used, and its environment. The error has code not_initialized,
// or invalid_config for an unknown name.
func (x MCPServices) Server(name string) (mcp.ServerSpec, MCPEnvironment, error) {
	c := x.c

	sh, err := c.services("MCP.Server")
	if err != nil {
		return mcp.ServerSpec{}, MCPEnvironment{}, err
	}
	target := sh.workspace.Target()
	for _, s := range c.mcpServers(target) {
		if s.Name == name {
			return s.ServerSpec, c.mcpEnvironment(sh), nil
		}
	}
	return mcp.ServerSpec{}, MCPEnvironment{}, fault.New(fault.InvalidConfig, "config.mcp", fmt.Sprintf("Unknown MCP server %q.", name),
		"fettle mcp list lists the servers; fettle mcp add adds one.")
}

// offer registers the current tools of a server.
func (c *Config) offer(server string) {
	s, sh := c.current()
	if s == nil || sh.servers.Load() == nil {
		return // the session has ended, or has not begun
	}
	offered := slices.DeleteFunc(sh.servers.Load().Tools(server), func(t tools.DeclarativeTool) bool {
		return !c.offers().Includes(t.Spec(), true)
	})
	c.noteDiscovery(split(s.registry.Offer(server, offered))...)
}

// resourceTools returns the tools that list and read resources of servers, if
// there are servers.
func (c *Config) resourceTools(sh *shared) []tools.DeclarativeTool {
	if sh.servers.Load() == nil {
		return nil
	}
	return slices.DeleteFunc(sh.servers.Load().ResourceTools(), func(t tools.DeclarativeTool) bool {
		return !c.selection().Includes(t.Spec(), true)
	})
}

// hiddenResources returns the names of those tools while no server has resources.
func (s *shared) hiddenResources() []string {
	if s.servers.Load() == nil || len(s.servers.Load().Resources("")) > 0 || len(s.servers.Load().Templates("")) > 0 {
		return nil
	}
	return []string{mcp.ListResources, mcp.ReadResource}
}

// offers returns the selection that applies to tools other than built-ins.
func (c *Config) offers() toollist.Selection { return toollist.Selection{Exclude: c.excluded()} }

// current returns the current services, nil before Initialize and after Close.
func (c *Config) current() (*session, *shared) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session, c.shared
}

// startServers connects the servers, unless that is left to a later call.
func (c *Config) startServers(ctx context.Context, sh *shared) {
	if sh.servers.Load() == nil || c.params().MCP.Later {
		return
	}
	sh.servers.Load().Start(context.WithoutCancel(ctx)) // Close ends it
}

// afterServer reports, after a call that may have changed files unobserved, which
// of the files that the conversation has read have changed.
func (c *Config) afterServer(s *session, sh *shared) scheduler.After {
	return func(ctx context.Context, d scheduler.Done, r tools.Result) (tools.Result, error) {
		if d.Spec.Origin.Group != tools.GroupMCP {
			return r, nil
		}
		removed, err := sh.names.Remove()
		c.logRemoved(removed, err)
		r.LLMContent.Parts = slices.Clone(r.LLMContent.Parts)
		for _, note := range discovered.RemovedNotes(removed, err) {
			r.LLMContent.Parts = append(r.LLMContent.Parts, tools.Part{Text: note})
		}
		if !d.Spec.Mutates() {
			return r, nil
		}
		changed, gone := s.state.Touched(context.WithoutCancel(ctx), sh.workspace.Resolve)
		for _, note := range []struct {
			what  string
			paths []string
		}{
			{"Changed Files (on disk since you read them; read them again before you change them)", changed},
			{"Removed Files (that you had read)", gone},
		} {
			if len(note.paths) > 0 {
				r.LLMContent.Parts = append(r.LLMContent.Parts, tools.Part{Text: note.what + ": " + escape.Paths(note.paths)})
			}
		}
		return r, nil
	}
}

// closeServers closes the connections to servers.
func (s *shared) closeServers() error {
	if s.servers.Load() == nil {
		return nil
	}
	return s.servers.Load().Close()
}

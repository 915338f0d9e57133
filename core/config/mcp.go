package config

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/config/internal/elicit"
	"github.com/fettle-dev/fettle/core/config/internal/servers"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// MCP says which MCP servers a session uses. The zero value is none.
type MCP struct {
	// Dial makes what connects to servers, as core/standard does. It is called at
	// Initialize, once the settings are known, and not at all where there is no
	// server. nil: no server is used, whatever Servers and the settings say.
	Dial func(MCPEnvironment) mcp.Dialer
	// Servers are the embedder's own, beside those of the settings and in place of
	// one of the same name. Dir of a spec is absolute or "", which is the target
	// directory. One that cannot be used is listed with the reason, as those of the
	// settings are.
	Servers []mcp.ServerSpec
	// Later leaves the servers unconnected until [mcp.Manager.Start] is called.
	// Otherwise Initialize starts to connect them, and does not wait.
	Later bool
	// Disabled uses no server at all, and no setting enables them.
	Disabled bool
	// Allowed are the only servers that may be used, and Excluded those that may
	// not even so, by name in any case of letters; "*" is all. nil: the settings', else
	// all, and none. Excluded ones of the settings hold in any case.
	Allowed, Excluded []string

	settings servers.Settings // made by fill
}

// MCPEnvironment is what connections to MCP servers are made in.
type MCPEnvironment struct {
	Dir string // absolute directory that servers run in where they name none
	// TokenFile is where the tokens of a person who has signed in are kept; "":
	// nowhere, as there is no home directory.
	TokenFile string
	Now       func() time.Time
	Logger    *slog.Logger
}

// tokenFile holds tokens, in the user's directory.
const tokenFile = "auth-cache.json"

// MCP returns what keeps the session's MCP servers connected, nil where it has
// none. Derived Configs have their parent's; it ends with that. The error is of
// code not_initialized.
func (c *Config) MCP() (*mcp.Manager, error) {
	sh, err := c.services("MCP")
	if err != nil {
		return nil, err
	}
	return sh.servers.Load(), nil
}

// mcpServers lists the servers of the session, those of the embedder first.
func (c *Config) mcpServers(target string) []mcp.Configured {
	p := &c.params().MCP
	if p.Dial == nil || p.Disabled {
		return nil
	}
	return c.servers().All(target)
}

// servers are those of the session, whether they may be used or not.
func (c *Config) servers() servers.Set {
	p := &c.params().MCP
	return servers.Set{Own: p.Servers, Settings: p.settings, Brought: c.brought().Servers, Allowed: p.Allowed, Excluded: p.Excluded}
}

// fillServers takes over the servers of the settings and what they say of all servers.
func (p *Parameters) fillServers(s settings.Settings, r *settings.Result) {
	m := &p.MCP
	m.Disabled = m.Disabled || !s.MCP.Enabled
	if m.Allowed == nil && r.OriginOf("mcp.allowed").Source != "" {
		m.Allowed = append([]string{}, s.MCP.Allowed...)
	}
	m.Excluded = slices.Concat(m.Excluded, s.MCP.Excluded)
	m.settings = servers.OfSettings(s, r)
}

// openServers makes what keeps the servers connected, nil without servers. It
// starts nothing.
func (c *Config) openServers(sh *shared) *mcp.Manager {
	target := sh.workspace.Target()
	servers := c.mcpServers(target)
	if len(servers) == 0 {
		return nil
	}
	p := c.params()
	return mcp.NewManager(mcp.Options{
		Dialer:  p.MCP.Dial(c.mcpEnvironment(target)),
		Servers: servers,
		Elicit:  elicit.Elicitor{Bus: c.bus}.Ask,
		Roots:   func() []string { return sh.workspace.Folders() },
		Changed: c.offer,
		Logger:  p.Logger,
	})
}

// mcpEnvironment is what connections are made in.
func (c *Config) mcpEnvironment(target string) MCPEnvironment {
	p := c.params()
	env := MCPEnvironment{Dir: target, Now: p.Now, Logger: p.Logger}
	if dir, err := c.userDir(); err == nil {
		env.TokenFile = filepath.Join(dir, tokenFile)
	}
	return env
}

// MCPServer returns how one of the session's MCP servers is reached, also one
// that may not be used, and in which environment. The error is of code
// not_initialized, or invalid_config where there is none of that name.
func (c *Config) MCPServer(name string) (mcp.ServerSpec, MCPEnvironment, error) {
	sh, err := c.services("MCPServer")
	if err != nil {
		return mcp.ServerSpec{}, MCPEnvironment{}, err
	}
	target := sh.workspace.Target()
	for _, s := range c.mcpServers(target) {
		if s.Name == name {
			return s.ServerSpec, c.mcpEnvironment(target), nil
		}
	}
	return mcp.ServerSpec{}, MCPEnvironment{}, fault.New(fault.InvalidConfig, "config.mcp", fmt.Sprintf("There is no MCP server %q in the settings.", name),
		"fettle mcp list shows those that there are, fettle mcp add adds one.")
}

// offer registers what a server offers now.
func (c *Config) offer(server string) {
	s, sh := c.current()
	if s == nil || sh.servers.Load() == nil {
		return // it has ended, or has not begun
	}
	offered := slices.DeleteFunc(sh.servers.Load().Tools(server), func(t tools.DeclarativeTool) bool {
		return !c.offers().Includes(t.Spec(), true)
	})
	c.noteDiscovery(split(s.registry.Offer(server, offered))...)
}

// resourceTools are the tools that list and read what servers have, where there
// are servers.
func (c *Config) resourceTools(sh *shared) []tools.DeclarativeTool {
	if sh.servers.Load() == nil {
		return nil
	}
	return slices.DeleteFunc(sh.servers.Load().ResourceTools(), func(t tools.DeclarativeTool) bool {
		return !c.selection().Includes(t.Spec(), true)
	})
}

// hiddenResources names those tools while no server has anything to read.
func (s *shared) hiddenResources() []string {
	if s.servers.Load() == nil || len(s.servers.Load().Resources("")) > 0 || len(s.servers.Load().Templates("")) > 0 {
		return nil
	}
	return []string{mcp.ListResources, mcp.ReadResource}
}

// offers is what the parameters say of tools that are no built-ins.
func (c *Config) offers() tools.Selection { return tools.Selection{Exclude: c.excluded()} }

// current returns the services as they are, nil before Initialize and after
// Close.
func (c *Config) current() (*session, *shared) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session, c.shared
}

// startServers connects the servers, unless somebody does so later.
func (c *Config) startServers(ctx context.Context, sh *shared) {
	if sh.servers.Load() == nil || c.params().MCP.Later {
		return
	}
	sh.servers.Load().Start(context.WithoutCancel(ctx)) // Close ends it
}

// afterServer tells, after a call that may have changed files unseen, which files
// that the conversation has read are others now (KH-27).
func (s *session) afterServer(sh *shared) scheduler.After {
	return func(ctx context.Context, d scheduler.Done, r tools.Result) (tools.Result, error) {
		if d.Spec.Origin.Group != tools.GroupMCP || !d.Spec.Mutates() {
			return r, nil
		}
		changed, gone := s.state.Touched(context.WithoutCancel(ctx), sh.workspace.Resolve)
		for _, told := range []struct {
			what  string
			paths []string
		}{
			{"Changed Files (on disk since you read them; read them again before you change them)", changed},
			{"Removed Files (that you had read)", gone},
		} {
			if len(told.paths) > 0 {
				r.LLMContent.Parts = append(slices.Clone(r.LLMContent.Parts), tools.Part{Text: told.what + ": " + listed(told.paths)})
			}
		}
		return r, nil
	}
}

// listed joins paths, not too many of them.
func listed(paths []string) string {
	const most = 20
	if len(paths) <= most {
		return strings.Join(paths, ", ")
	}
	return strings.Join(paths[:most], ", ") + ", …"
}

// closeServers ends the connections to servers.
func (s *shared) closeServers() error {
	if s.servers.Load() == nil {
		return nil
	}
	return s.servers.Load().Close()
}

package program

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
)

// The time that the program waits for MCP servers before it goes on without them. A
// server may connect later.
const (
	ServersForPrompt = 5 * time.Second
	ServersForList   = 40 * time.Second // longer than the connection timeout
)

// SignIn opens the sign-in pages of MCP servers for the user at the terminal. With a
// nil SignIn no user can sign in, and fettle mcp auth is needed.
type SignIn struct {
	Open  func(ctx context.Context, url string) error
	shown atomic.Bool // a page was shown
}

// SignIn returns a SignIn that prints the address of a page on stderr.
func (p *Program) SignIn() *SignIn {
	if !display.IsTerminal(p.In) || !display.IsTerminal(p.Err) {
		return nil
	}
	return &SignIn{Open: p.OpenURL}
}

func (s *SignIn) show(ctx context.Context, url string) error {
	s.shown.Store(true)
	return s.Open(ctx, url)
}

// options returns the connection options.
func (s *SignIn) options() ServerOptions {
	o := ServerOptions{Version: VersionOf().Version}
	if s != nil {
		o.OpenURL, o.Interactive = s.show, true
	}
	return o
}

// Settled waits at most wait for servers. If a page was shown by then, it waits until
// the user has signed in or the sign-in times out.
func (s *SignIn) Settled(ctx context.Context, m *mcp.Manager, wait time.Duration) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if !m.Settled(waiting) && s != nil && s.shown.Load() {
		m.Settled(ctx) // each connection attempt has its own timeout
	}
}

// ConnectServers connects the MCP servers of the session and waits at most wait for
// them. It returns an error for each server that is not connected by then.
func (s *configSession) ConnectServers(ctx context.Context, wait time.Duration) []error {
	manager, err := s.config.MCP().Manager()
	if err != nil || manager == nil {
		return nil
	}
	manager.Start(context.WithoutCancel(ctx)) // the servers end with the Config
	s.signIn.Settled(ctx, manager, wait)
	var missing []error
	for _, s := range manager.Status() {
		switch {
		case s.State == mcp.StateConnecting:
			missing = append(missing, fault.New(fault.MCPServerUnavailable, "cli", fmt.Sprintf("The MCP server %s is not connected yet; its tools come when it is.", display.Line(s.Name)), ""))
		case s.Error != nil && s.State != mcp.StateDisabled && s.State != mcp.StateBlocked:
			missing = append(missing, s.Error)
		}
		missing = append(missing, s.Dropped...)
	}
	return missing
}

// ConnectFor connects the servers that a call needs. For a tool that is not
// registered, these are the servers that its name can belong to, one after another
// until the tool is registered; for the tools that read from any server, all. It
// returns once they are connected or have failed: nil if the tool is registered or no
// server can have it, otherwise the error of the server that most likely has it.
func (s *configSession) ConnectFor(ctx context.Context, tool string) error {
	if tool == mcp.ListResources || tool == mcp.ReadResource {
		s.ConnectServers(ctx, ServersForList)
		return nil
	}
	if _, err := s.Lookup(tool); err == nil || !strings.HasPrefix(tool, "mcp_") {
		return nil
	}
	manager, err := s.config.MCP().Manager()
	if err != nil || manager == nil {
		return ServersDisabled(s.config)
	}
	var candidates []string
	for _, status := range manager.Status() {
		if mayBelongTo(tool, status.Name) {
			candidates = append(candidates, status.Name)
		}
	}
	slices.SortFunc(candidates, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	for _, name := range candidates {
		manager.Start(context.WithoutCancel(ctx), name)
		manager.Settled(ctx, name)
		if _, err := s.Lookup(tool); err == nil || ctx.Err() != nil {
			return nil
		}
	}
	for _, name := range candidates {
		for _, status := range manager.Status() {
			if status.Name == name && status.Error != nil {
				return status.Error
			}
		}
	}
	return nil
}

// ServersDisabled returns an error if the settings disable all MCP servers.
func ServersDisabled(c *config.Config) error {
	set, err := c.Settings().Current()
	if err != nil || set.MCP.Enabled || len(set.MCPServers) == 0 && set.MCP.ServerCommand == "" {
		return nil
	}
	return fault.New(fault.MCPServerUnavailable, "cli.mcp", "MCP servers are disabled: the setting mcp.enabled is false.", "fettle config show mcp.enabled --origin shows the file that disabled them.")
}

// mayBelongTo reports whether a tool of that name can belong to a server: it begins
// with the server's name, as encoded in tool names, or with the part of it that
// precedes the hash of a shortened name.
func mayBelongTo(tool, server string) bool {
	const digits, most = 8, 32 // of a hash
	spelt := tools.QualifiedName(server, strings.Repeat("x", tools.MaxNameLength))[:tools.MaxNameLength-1-digits]
	begin := spelt
	if end := len("mcp_" + server + "_"); end < len(begin) {
		begin = begin[:end]
	}
	if strings.HasPrefix(tool, begin) {
		return true
	}
	for n := 2 * digits; n <= most && len(tool) == tools.MaxNameLength; n *= 2 {
		if kept := tools.MaxNameLength - 1 - n; len(begin) > kept && strings.HasPrefix(tool, begin[:kept]+"_") {
			return true
		}
	}
	return false
}

// OpenURL prints the address of a page on stderr and opens it in the browser of the
// desktop, if there is one.
func (p *Program) OpenURL(ctx context.Context, url string) error {
	fmt.Fprintf(p.Err, "To sign in, open this page:\n  %s\n", display.Printable(url))
	name, args := browser()
	if name == "" {
		return nil
	}
	// The output of the browser is dropped; the address is already printed.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, append(args, url)...)
	if err := cmd.Start(); err != nil {
		return nil
	}
	go func() { _ = cmd.Wait() }() // the command exits once it has passed the address on
	return nil
}

// browser returns the command that opens addresses on this desktop, "" if there is
// none.
func browser() (name string, args []string) {
	switch runtime.GOOS {
	case "darwin":
		return "open", nil
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	}
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return "", nil
	}
	return "xdg-open", nil
}

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
	"github.com/fettle-dev/fettle/core/standard"
	"github.com/fettle-dev/fettle/core/tools"
)

// How long the program waits for MCP servers before it goes on without those
// that are not there yet. They may come later.
const (
	ServersForPrompt = 5 * time.Second
	ServersForList   = 40 * time.Second // longer than one has to connect
)

// SignIn takes the person at the terminal to the pages at which servers want
// somebody to sign in. nil: there is nobody, and fettle mcp auth does it.
type SignIn struct {
	Open  func(ctx context.Context, url string) error
	shown atomic.Bool // a page was
}

// SignIn is that of a command whose person sees pages on stderr and is there as
// long as it runs.
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

// options are those of the connections to servers.
func (s *SignIn) options() standard.ServerOptions {
	o := standard.ServerOptions{Version: VersionOf().Version}
	if s != nil {
		o.OpenURL, o.Interactive = s.show, true
	}
	return o
}

// Settled waits for servers, so long at the most. Where a page has been shown by
// then it waits until the person has signed in, or has not in the time for it.
func (s *SignIn) Settled(ctx context.Context, m *mcp.Manager, wait time.Duration) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if !m.Settled(waiting) && s != nil && s.shown.Load() {
		m.Settled(ctx) // the attempt to connect ends by itself
	}
}

// ConnectServers connects the session's MCP servers and waits for them, for so
// long at the most. It returns what a person should know of those that are not
// connected then.
func (s *configSession) ConnectServers(ctx context.Context, wait time.Duration) []error {
	manager, err := s.config.MCP()
	if err != nil || manager == nil {
		return nil
	}
	manager.Start(context.WithoutCancel(ctx)) // the Config's end is theirs
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

// ConnectFor connects the servers that a call is for: those that a tool which is
// not registered may belong to, by its name, one after another until it is there,
// and all for the tools that read from any. It returns once they are connected or
// have failed: nil where the tool is there or no server may have it, else why the
// server that most likely has it is not.
func (s *configSession) ConnectFor(ctx context.Context, tool string) error {
	if tool == mcp.ListResources || tool == mcp.ReadResource {
		s.ConnectServers(ctx, ServersForList)
		return nil
	}
	if _, err := s.Lookup(tool); err == nil || !strings.HasPrefix(tool, "mcp_") {
		return nil
	}
	manager, err := s.config.MCP()
	if err != nil || manager == nil {
		return ServersOff(s.config)
	}
	var candidates []string
	for _, status := range manager.Status() {
		if mayBeOf(tool, status.Name) {
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

// ServersOff says that the settings' servers are turned off, nil if they are not.
func ServersOff(c *config.Config) error {
	set, err := c.Settings()
	if err != nil || set.MCP.Enabled || len(set.MCPServers) == 0 && set.MCP.ServerCommand == "" {
		return nil
	}
	return fault.New(fault.MCPServerUnavailable, "cli.mcp", "MCP servers are turned off: the setting mcp.enabled is false.", "fettle config show mcp.enabled --origin says who turned them off.")
}

// mayBeOf reports whether a tool of that name may be one of a server's: it begins
// with the server's name, as names of tools spell it, or with as much of that as
// a hash at the end of a name leaves.
func mayBeOf(tool, server string) bool {
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

// OpenURL shows a page to the person: its address on stderr and, where there is
// a desktop, the page itself.
func (p *Program) OpenURL(ctx context.Context, url string) error {
	fmt.Fprintf(p.Err, "To sign in, open this page:\n  %s\n", display.Printable(url))
	name, args := browser()
	if name == "" {
		return nil
	}
	// What the desktop's program says is for nobody, and the address stands above.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, append(args, url)...)
	if err := cmd.Start(); err != nil {
		return nil
	}
	go func() { _ = cmd.Wait() }() // it ends once it has handed the address on
	return nil
}

// browser is the program that opens addresses on this desktop, "" without one.
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

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
)

// How long the program waits for MCP servers before it goes on without those
// that are not there yet. They may come later.
const (
	serversForPrompt = 5 * time.Second
	serversForList   = 30 * time.Second
)

// connectServers connects the session's MCP servers and waits for them, for so
// long at the most. It returns what a person should know of those that are not
// connected then.
func connectServers(ctx context.Context, c *config.Config, wait time.Duration) []error {
	manager, err := c.MCP()
	if err != nil || manager == nil {
		return nil
	}
	manager.Start(context.WithoutCancel(ctx)) // the Config's end is theirs
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	manager.Settled(waiting)
	var missing []error
	for _, s := range manager.Status() {
		switch {
		case s.State == mcp.StateConnecting:
			missing = append(missing, fault.New(fault.MCPServerUnavailable, "cli", fmt.Sprintf("The MCP server %s is not connected yet; its tools come when it is.", s.Name), ""))
		case s.Error != nil && s.State != mcp.StateDisabled:
			missing = append(missing, fault.Wrap(fault.MCPServerUnavailable, "cli", fmt.Sprintf("The MCP server %s is %s: %s", s.Name, s.State, messageOf(s.Error)), remedyOf(s.Error), s.Error))
		}
		for _, dropped := range s.Dropped {
			missing = append(missing, fault.Wrap(fault.MCPServerUnavailable, "cli", fmt.Sprintf("Of the MCP server %s: %s", s.Name, messageOf(dropped)), remedyOf(dropped), dropped))
		}
	}
	return missing
}

// connectFor connects the servers that a tool may belong to which is not
// registered, by its name. It returns once they are connected or have failed, and
// says what is wrong with those that are not.
func connectFor(ctx context.Context, s session, tool string) {
	if _, err := s.Lookup(tool); err == nil {
		return
	}
	manager, err := s.Config().MCP()
	if err != nil || manager == nil {
		return
	}
	var candidates []string
	for _, status := range manager.Status() {
		if prefix := strings.TrimSuffix(tools.QualifiedName(status.Name, "x"), "_x"); strings.HasPrefix(tool, prefix) {
			candidates = append(candidates, status.Name)
		}
	}
	if len(candidates) == 0 {
		connectServers(ctx, s.Config(), serversForList)
		return
	}
	slices.Sort(candidates)
	for _, name := range candidates {
		manager.Start(context.WithoutCancel(ctx), name)
		manager.Settled(ctx, name) // the call says what is missing
		if _, err := s.Lookup(tool); err == nil || ctx.Err() != nil {
			return
		}
	}
}

func messageOf(err error) string {
	if f := fault.As(err); f != nil {
		return f.Message
	}
	return sentence(err.Error())
}

func remedyOf(err error) string {
	if f := fault.As(err); f != nil {
		return f.Remedy
	}
	return ""
}

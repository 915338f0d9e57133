package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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

// ConnectServers connects the session's MCP servers and waits for them, for so
// long at the most. It returns what a person should know of those that are not
// connected then.
func (s *configSession) ConnectServers(ctx context.Context, wait time.Duration) []error {
	manager, err := s.config.MCP()
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
		case s.Error != nil && s.State != mcp.StateDisabled && s.State != mcp.StateBlocked:
			missing = append(missing, s.Error)
		}
		missing = append(missing, s.Dropped...)
	}
	return missing
}

// ConnectFor connects the servers that a call is for: those that a tool may belong
// to which is not registered, by its name, and all for the tools that read from
// any. It returns once they are connected or have failed; the call then says what
// is missing.
func (s *configSession) ConnectFor(ctx context.Context, tool string) {
	if tool == mcp.ListResources || tool == mcp.ReadResource {
		s.ConnectServers(ctx, serversForList)
		return
	}
	if _, err := s.Lookup(tool); err == nil {
		return
	}
	manager, err := s.config.MCP()
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
		s.ConnectServers(ctx, serversForList)
		return
	}
	slices.Sort(candidates)
	for _, name := range candidates {
		manager.Start(context.WithoutCancel(ctx), name)
		manager.Settled(ctx, name)
		if _, err := s.Lookup(tool); err == nil || ctx.Err() != nil {
			return
		}
	}
}

package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/chat/lists"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// serverCommand is /mcp show NAME: the tools of a server, and what can be done with it.
func (l listLoader) serverCommand() *commands.Command {
	return &commands.Command{
		Name: "show", Description: "Lists the tools of a server and the commands for it: /mcp show SERVER", Kind: commands.KindBuiltIn,
		Action: func(ctx context.Context, _ *commands.Context, name string) (commands.Result, error) {
			servers := chatServers{l.chat}.List()
			i := slices.IndexFunc(servers, func(s builtin.Server) bool { return s.Name == name })
			if i < 0 {
				return nil, fault.New(fault.InvalidToolParams, "cli.mcp", fmt.Sprintf("There is no MCP server %q.", escape.Plain(name, 80)), "Type /mcp list for the servers.")
			}
			return nil, l.pick(ctx, func(context.Context) (interactive.Pick, error) { return lists.Server(servers[i]), nil })
		},
		Completion: func(_ context.Context, _ *commands.Context, typed string) (found []commands.Candidate, _ error) {
			for _, s := range (chatServers{l.chat}).List() {
				if strings.HasPrefix(s.Name, typed) {
					found = append(found, commands.Candidate{Value: s.Name, Description: s.State})
				}
			}
			return found, nil
		},
	}
}

// pickServer returns the list of /mcp.
func (c *chat) pickServer(context.Context) (interactive.Pick, error) {
	return lists.Servers(chatServers{c}.List()), nil
}

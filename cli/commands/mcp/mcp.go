// Package mcp has the commands of MCP servers: adding, listing, testing and signing in
// to those that sessions use, and serving clients.
package mcp

import (
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/program"
)

// Command is fettle mcp.
func Command(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Use MCP servers, and be one",
		Args:  program.KnownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(mcpServeCommand(p, g), mcpListCommand(p, g), mcpTestCommand(p, g), mcpAddCommand(p, g), mcpRemoveCommand(p, g), mcpAuthCommand(p, g))
	return cmd
}

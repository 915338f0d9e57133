// Package mcp implements the fettle mcp commands: add, list, test and sign in to MCP
// servers, and serve MCP clients.
package mcp

import (
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/program"
)

// Command returns the fettle mcp command.
func Command(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Manage MCP servers, and serve MCP clients",
		Args:  program.KnownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(mcpServeCommand(p, g), mcpListCommand(p, g), mcpTestCommand(p, g), mcpAddCommand(p, g), mcpRemoveCommand(p, g), mcpAuthCommand(p, g))
	return cmd
}

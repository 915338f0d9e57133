package cli

import "github.com/spf13/cobra"

func (p *program) mcpCommand(g *globalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Use MCP servers, and be one",
		Args:  knownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(p.mcpServeCommand(g), p.mcpListCommand(g), p.mcpTestCommand(g), p.mcpAddCommand(g), p.mcpRemoveCommand(g), p.mcpAuthCommand(g))
	return cmd
}

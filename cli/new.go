package cli

import "github.com/spf13/cobra"

func (p *program) newCommand(g *globalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Begin a tool in Go, or an extension",
		Args:  knownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(p.newToolCommand(g), p.newExtensionCommand(g))
	return cmd
}

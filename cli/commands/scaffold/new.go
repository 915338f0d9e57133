// Package scaffold implements the commands that create a Go tool or an extension.
package scaffold

import (
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/program"
)

// Command returns the fettle new command.
func Command(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Create a Go tool or an extension",
		Args:  program.KnownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(newToolCommand(p, g), newExtensionCommand(p, g))
	return cmd
}

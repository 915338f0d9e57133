package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/program"
)

// printVersion prints the version as one line.
func printVersion(p *program.Program) error {
	_, err := fmt.Fprintln(p.Out, program.VersionOf())
	return err
}

func versionCommand(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return program.PrintJSON(p.Out, program.VersionOf())
			}
			return printVersion(p)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

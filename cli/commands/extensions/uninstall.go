package extensions

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// uninstallAnswer is the JSON output of uninstall for one extension.
type uninstallAnswer struct {
	Name    string       `json:"name"`
	Removed bool         `json:"removed"`
	Error   *fault.Error `json:"error,omitempty"`
}

func extensionsUninstallCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "uninstall NAME…",
		Short: "Remove extensions and the values of their settings",
		Long: `Removes extensions by name or source: their files, the values of their settings,
and their enablement. For a linked extension, only the link is removed. Values that
fettle extensions config --scope workspace wrote to the .env file of a directory are
kept, because the project may use them; sensitive values are removed.`,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return program.UsageError("Extension names or --all are required.", "fettle extensions list lists the extensions.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withExtensions(cmd.Context(), p, g, func(store *extensionstore.Store) error {
				if all {
					names, err := store.Installed()
					if err != nil {
						return err
					}
					args = names
				}
				answers := []uninstallAnswer{}
				failed := false
				for _, name := range args {
					removed, err := store.Uninstall(cmd.Context(), name)
					answer := uninstallAnswer{Name: name, Removed: removed != ""}
					if removed != "" {
						answer.Name = removed
					}
					if cmd.Context().Err() != nil {
						return program.Interrupted()
					}
					if err != nil {
						failed = true
						if !errors.As(err, &answer.Error) {
							return err
						}
					}
					answers = append(answers, answer)
					if asJSON {
						continue
					}
					if answer.Removed {
						if _, err := fmt.Fprintf(p.Out, "%s is uninstalled.\n", display.Line(answer.Name)); err != nil {
							return err
						}
					}
					if answer.Error != nil {
						p.PrintError(answer.Error)
					}
				}
				if asJSON {
					if err := program.PrintJSON(p.Out, answers); err != nil {
						return err
					}
				}
				if failed {
					return &program.ExitError{Code: program.ExitToolError}
				}
				return nil
			})
		},
		ValidArgsFunction: completeExtensions(p, g, true),
	}
	cmd.Flags().BoolVar(&all, "all", false, "all extensions")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

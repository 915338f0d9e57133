package extensions

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config/extensioncheck"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// enableAnswer is the JSON output of enable and disable.
type enableAnswer struct {
	Name   string           `json:"name"`
	Scope  extensions.Scope `json:"scope"`
	Active bool             `json:"isActive"` // in the target directory
	Why    string           `json:"inactive,omitempty"`
}

func extensionsEnableCommand(p *program.Program, g *program.Flags) *cobra.Command {
	return extensionsSwitchCommand(p, g, true, "enable NAME", "Enable an extension",
		`Enables an extension in all your directories, or with --scope workspace in the
target directory and its subdirectories. Earlier entries for subdirectories are
removed.`)
}

func extensionsDisableCommand(p *program.Program, g *program.Flags) *cobra.Command {
	return extensionsSwitchCommand(p, g, false, "disable NAME", "Disable an extension",
		`Disables an extension in all your directories, or with --scope workspace in the
target directory and its subdirectories. Earlier entries for subdirectories are
removed.`)
}

func extensionsSwitchCommand(p *program.Program, g *program.Flags, on bool, use, short, long string) *cobra.Command {
	var asJSON bool
	scope := ""
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: program.ExactlyOne("The extension name is missing.", "fettle extensions list lists the extensions."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withExtensions(cmd.Context(), p, g, func(store *extensionstore.Store) error {
				e, err := findExtension(cmd.Context(), store, args[0])
				if err != nil {
					return err
				}
				if err := store.SetEnabled(cmd.Context(), e.Name, extensions.Scope(scope), on); err != nil {
					return err
				}
				if e, err = findExtension(cmd.Context(), store, e.Name); err != nil {
					return err
				}
				if on {
					for _, f := range extensioncheck.Rules(cmd.Context(), e) {
						if f.Severity == fault.SeverityError {
							p.PrintError(errors.New(f.String()))
						}
					}
				}
				if asJSON {
					return program.PrintJSON(p.Out, enableAnswer{e.Name, extensions.Scope(scope), e.Active, e.Inactive})
				}
				did, where := "disabled", "all your directories"
				if on {
					did = "enabled"
				}
				if scope == string(extensions.ScopeWorkspace) {
					where = "this directory"
				}
				but := ""
				if on && !e.Active {
					but = " It is still inactive here: " + display.Line(e.Inactive)
				} else if !on && e.Active {
					but = " It is still active here."
				}
				_, err = fmt.Fprintf(p.Out, "%s is %s in %s.%s\n", display.Line(e.Name), did, where, but)
				return err
			})
		},
		ValidArgsFunction: completeExtensions(p, g, false),
	}
	cmd.Flags().Var(program.NewChoice(&scope, string(extensions.ScopeUser), string(extensions.ScopeWorkspace)), "scope", "scope: user|workspace")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

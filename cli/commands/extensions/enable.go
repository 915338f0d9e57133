package extensions

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
)

// enableAnswer is what enable and disable print as JSON.
type enableAnswer struct {
	Name   string           `json:"name"`
	Scope  extensions.Scope `json:"scope"`
	Active bool             `json:"isActive"` // in the directory that the tools work in
	Why    string           `json:"inactive,omitempty"`
}

func extensionsEnableCommand(p *program.Program, g *program.Flags) *cobra.Command {
	return extensionsSwitchCommand(p, g, true, "enable NAME", "Have an extension contribute what it brings",
		`Turns an extension on in all your directories, or with --scope workspace in the one
that the tools work in and those below. What was said before of directories below is
forgotten.`)
}

func extensionsDisableCommand(p *program.Program, g *program.Flags) *cobra.Command {
	return extensionsSwitchCommand(p, g, false, "disable NAME", "Have an extension contribute nothing",
		`Turns an extension off in all your directories, or with --scope workspace in the one
that the tools work in and those below. What was said before of directories below is
forgotten.`)
}

func extensionsSwitchCommand(p *program.Program, g *program.Flags, on bool, use, short, long string) *cobra.Command {
	var asJSON bool
	scope := ""
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: program.ExactlyOne("The name of an extension is needed.", "fettle extensions list shows those that there are."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withExtensions(cmd.Context(), p, g, func(store *extensions.Store) error {
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
					for _, f := range config.CheckExtensionRules(cmd.Context(), e) {
						if f.Severity == fault.SeverityError {
							p.Complain(errors.New(f.String()))
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
					but = " It is not active here all the same: " + display.Line(e.Inactive)
				} else if !on && e.Active {
					but = " It is active here all the same."
				}
				_, err = fmt.Fprintf(p.Out, "%s is %s in %s.%s\n", display.Line(e.Name), did, where, but)
				return err
			})
		},
		ValidArgsFunction: completeExtensions(p, g, false),
	}
	cmd.Flags().Var(program.NewChoice(&scope, string(extensions.ScopeUser), string(extensions.ScopeWorkspace)), "scope", "where: user|workspace")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

package extensions

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

func extensionsValidateCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate PATH",
		Short: "Check the extension in a directory and list its contents",
		Long: `Lists all problems of an extension with file and line: in its manifest, hooks,
commands, skills, agents and rules, and links that lead out of it. The exit code is
1 if one of them is an error, for which the extension or a part of it is not loaded.`,
		Args: program.ExactlyOne("The directory of the extension is missing.", "Example: fettle extensions validate ./my-extension."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withExtensions(cmd.Context(), p, g, func(store *extensionstore.Store) error {
				v, err := store.Validate(cmd.Context(), from(g, args[0]), partChecks()...)
				if err != nil {
					return err
				}
				if asJSON {
					err = program.PrintJSON(p.Out, v)
				} else {
					err = printValidation(p.Out, v)
				}
				if err == nil && !v.Valid {
					return &program.ExitError{Code: program.ExitToolError}
				}
				return err
			})
		},
		ValidArgsFunction: program.CompleteDirectory,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printValidation(w io.Writer, v extensionstore.Validation) error {
	var b strings.Builder
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Severity, display.Line(f.String()))
	}
	what := "The extension"
	if v.Name != "" {
		what += " " + display.Line(v.Name+" "+v.Version)
	}
	switch {
	case !v.Valid:
		fmt.Fprintf(&b, "%s has problems.\n", what)
	case len(v.Findings) > 0:
		fmt.Fprintf(&b, "%s is valid.\n", what)
	default:
		fmt.Fprintf(&b, "No problems in %s%s.\n", strings.ToLower(what[:1]), what[1:])
	}
	for _, part := range brought(v.Brings) {
		if len(part.values) > 0 {
			fmt.Fprintf(&b, "  %-14s %s\n", part.name+":", display.Line(strings.Join(part.values, ", ")))
		}
	}
	for _, o := range v.Brings.Omitted {
		fmt.Fprintf(&b, "  %-14s %s\n", "left out:", display.Line(omittedText(o)))
	}
	for _, s := range v.Brings.Settings {
		fmt.Fprintf(&b, "  %-14s %s\n", "setting:", display.Line(s.EnvVar+" ("+s.Name+")"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// partChecks returns the checks of the packages that own the parts of an extension.
func partChecks() []extensionstore.Check {
	return []extensionstore.Check{checkHooks, checkSkills, checkAgents, checkPolicies, checkCommands, checkServers, checkPlans, checkExcluded, checkPlugin}
}

// found returns a problem: an error if a part cannot be used, otherwise a warning.
func found(path string, line int, message, remedy string, lost bool) fault.Problem {
	return fault.Problem{Severity: fault.SeverityOf(lost), Path: path, Line: line, Message: message, Remedy: remedy}
}

// partsChecked returns the findings of a check, or the error of its context.
func partsChecked(ctx context.Context, findings []fault.Problem) ([]fault.Problem, error) {
	if ctx.Err() != nil {
		return nil, program.Interrupted()
	}
	return findings, nil
}

package program

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
)

// KnownSubcommand is knownCommand for a command that has others below it.
func KnownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	remedy := "See " + cmd.CommandPath() + " --help."
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		remedy = "Did you mean " + cmd.CommandPath() + " " + strings.Join(near, " or ") + "? " + remedy
	}
	return UsageError(fmt.Sprintf("Unknown command %q.", args[0]), remedy)
}

// ExactlyOne is for commands with one argument.
func ExactlyOne(message, remedy string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return UsageError(message, remedy)
		}
		return nil
	}
}

// CompleteFolder completes the first argument with directories.
func CompleteFolder(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// CompleteTools completes the first argument with the names of tools.
func CompleteTools(p *Program, g *Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []cobra.Completion
		if len(args) == 0 {
			_ = p.WithSession(cmd.Context(), SessionOptions{Flags: g}, func(s Session) error { // no session, no suggestions
				for _, t := range s.Tools() {
					spec := t.Spec()
					names = append(names, cobra.CompletionWithDesc(spec.Name, display.FirstSentence(spec.Description)))
				}
				return nil
			})
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// Ptr points to a copy of v.
func Ptr[T any](v T) *T { return &v }

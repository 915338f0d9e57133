package program

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
)

// KnownSubcommand rejects an unknown subcommand and suggests similar ones.
func KnownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return UnknownCommand(cmd, args[0], "See "+cmd.CommandPath()+" --help.")
}

// UnknownCommand returns the error for an unknown subcommand of cmd, whose remedy begins
// with similar ones.
func UnknownCommand(cmd *cobra.Command, name, remedy string) error {
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		remedy = "Did you mean " + cmd.CommandPath() + " " + strings.Join(near, " or "+cmd.CommandPath()+" ") + "? " + remedy
	}
	return UsageError(fmt.Sprintf("Unknown command %q.", name), remedy)
}

// ExactlyOne requires exactly one argument.
func ExactlyOne(message, remedy string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return UsageError(message, remedy)
		}
		return nil
	}
}

// CompleteDirectory completes the first argument with directories.
func CompleteDirectory(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// CompleteTools completes the first argument with tool names.
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

// Ptr returns a pointer to a copy of v.
func Ptr[T any](v T) *T { return &v }

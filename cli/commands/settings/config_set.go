package settings

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/config/settings"
)

// ConfigSetCommand returns the fettle config set command.
func ConfigSetCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON, unset bool
	scope := "user"
	cmd := &cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Set a key in your settings file or the project's",
		Long: `Writes a value to your settings file, or with --scope project to the project's
file. VALUE is JSON or plain text. The rest of the file, including comments, is
unchanged.`,
		Example: `  fettle config set tools.shell.inactivityTimeout 60
  fettle config set tools.exclude '["write_file"]' --scope project
  fettle config set sandbox landlock
  fettle config set model --unset`,
		Args: func(cmd *cobra.Command, args []string) error {
			want := 2
			if unset {
				want = 1
			}
			if len(args) != want {
				return program.UsageError("A key and a value are required; --unset takes only a key.", "See "+cmd.CommandPath()+" --help.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var value any
			if !unset {
				value = settings.ParseValue(args[0], args[1])
			}
			return userfiles.SetConfig(cmd.Context(), p, g, settings.Layer(scope), args[0], value, asJSON)
		},
		ValidArgsFunction: completeSetting,
	}
	cmd.Flags().Var(program.NewChoice(&scope, "user", "project"), "scope", "settings file: user|project")
	cmd.Flags().BoolVar(&unset, "unset", false, "remove the key from the file")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions([]string{"user", "project"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return cmd
}

// NegativeValues marks negative numbers among the arguments of config set, so that
// they are parsed as values and not as flags.
func NegativeValues(args []string) []string {
	at := slices.Index(args, "config")
	if at < 0 || !slices.Contains(args[at:], "set") {
		return args
	}
	marked := slices.Clone(args)
	for i, arg := range marked {
		if i > at && len(arg) > 1 && arg[0] == '-' && (arg[1] >= '0' && arg[1] <= '9' || arg[1] == '.') {
			marked[i] = " " + arg // JSON allows the blank
		}
	}
	return marked
}

package cli

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// settingAnswer is what config set prints as JSON.
type settingAnswer struct {
	Key   string `json:"key"`
	Path  string `json:"path"`
	Value any    `json:"value"` // null: it was taken out
}

func (p *program) configSetCommand(g *globalFlags) *cobra.Command {
	var asJSON, unset bool
	scope := "user"
	cmd := &cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Give a key a value in your settings file or the project's",
		Long: `Writes a value to your settings file, or with --scope project to the project's.
VALUE is JSON, or a text as it is. All else in the file stays as it is, comments
too.`,
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
				return usageError("A key and a value are needed, with --unset a key alone.", "See "+cmd.CommandPath()+" --help.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var value any
			if !unset {
				value = settings.ParseValue(args[0], args[1])
			}
			return p.setConfig(cmd.Context(), g, settings.Layer(scope), args[0], value, asJSON)
		},
		ValidArgsFunction: completeSetting,
	}
	cmd.Flags().Var(newChoice(&scope, "user", "project"), "scope", "whose file: user|project")
	cmd.Flags().BoolVar(&unset, "unset", false, "take the key out of the file")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions([]string{"user", "project"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return cmd
}

func (p *program) setConfig(ctx context.Context, g *globalFlags, scope settings.Layer, key string, value any, asJSON bool) error {
	o, err := settingsOptions(ctx, g)
	if err != nil {
		return err
	}
	path, steps, known := settings.Resolve(key)
	if !known {
		return unknownSetting(key)
	}
	files := settings.Files(o)
	i := slices.IndexFunc(files, func(f settings.File) bool { return f.Layer == scope })
	if i < 0 {
		return usageError(fmt.Sprintf("There is no settings file of the %s here.", scope), "fettle config path lists those that there are.")
	}
	set := settings.Set
	if scope == settings.LayerProject {
		set = func(ctx context.Context, file, key string, value any) error {
			return settings.SetIn(ctx, o.ProjectDir, file, key, value)
		}
	}
	name := key
	if len(steps) == 0 {
		if there := settings.NameIn(o.Layout, path); there != path {
			name = there
		}
	}
	if err := set(ctx, files[i].Path, name, value); err != nil {
		return configFailure(err)
	}
	r, err := settings.Load(ctx, o)
	if err != nil {
		return configFailure(err)
	}
	p.warnIfWithoutEffect(r, path, steps, files[i], value)
	if err := p.warnIfNoSession(ctx, g, o, r); err != nil {
		return err
	}
	if asJSON {
		return printJSON(p.out, settingAnswer{key, files[i].Path, settings.Masked(strings.Join(append([]string{path}, steps...), "."), value)})
	}
	did := "is set in"
	if value == nil {
		did = "is not given in"
	}
	_, err = fmt.Fprintf(p.out, "%s %s %s.\n", printable(key), did, printable(files[i].Path))
	return err
}

// warnIfWithoutEffect tells of what keeps a value that was set from being in
// force.
func (p *program) warnIfWithoutEffect(r *settings.Result, key string, steps []string, file settings.File, value any) {
	for _, m := range r.Problems {
		about := m.Key == key || strings.HasPrefix(m.Key, key+".")
		if m.Path == file.Path && about && value != nil {
			p.complain(fault.New(fault.InvalidConfig, "cli", m.String(), ""))
		}
	}
	o := r.InForce(key)
	if value == nil || len(steps) > 0 || o.Source == "" || o.Source == file.Path || reflect.DeepEqual(o.Value, value) {
		return
	}
	p.complain(fault.New(fault.InvalidConfig, "cli", fmt.Sprintf("What %s says of %s is stronger: %s.", o.Source, key,
		jsonText(settings.Masked(key, o.Value))), ""))
}

// warnIfNoSession tells of what keeps a session from beginning with the settings
// as they are now.
func (p *program) warnIfNoSession(ctx context.Context, g *globalFlags, o settings.Options, r *settings.Result) error {
	checked, err := checkSettings(ctx, g, o, r)
	if err != nil {
		return err
	}
	for _, m := range checked {
		if m.Open {
			p.complain(fault.New(fault.InvalidConfig, "cli", m.String(), ""))
		}
	}
	return nil
}

// negativeValues marks the negative numbers among the arguments of config set,
// which are values and no flags.
func negativeValues(args []string) []string {
	at := slices.Index(args, "config")
	if at < 0 || !slices.Contains(args[at:], "set") {
		return args
	}
	marked := slices.Clone(args)
	for i, arg := range marked {
		if i > at && len(arg) > 1 && arg[0] == '-' && (arg[1] >= '0' && arg[1] <= '9' || arg[1] == '.') {
			marked[i] = " " + arg // JSON takes the blank
		}
	}
	return marked
}

// Package settings implements the commands for settings and for trust in directories.
package settings

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// settingListing is the JSON output for a key.
type settingListing struct {
	Key     string            `json:"key"`
	Value   any               `json:"value"`
	Origins []settings.Origin `json:"origins"` // highest precedence first
	Unused  bool              `json:"unused,omitempty"`
	InForce settings.Layer    `json:"layer,omitempty"` // the layer of the effective value; "": no value
}

// fileListing is the JSON output for a settings file.
type fileListing struct {
	Layer  settings.Layer `json:"layer"`
	Path   string         `json:"path"`
	Exists bool           `json:"exists"`
}

// Command returns the fettle config command.
func Command(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show, set and check settings",
		Args:  program.KnownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(configShowCommand(p, g), ConfigSetCommand(p, g), configValidateCommand(p, g), configPathCommand(p, g))
	return cmd
}

func configShowCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var origin, asJSON bool
	cmd := &cobra.Command{
		Use:   "show [KEY]",
		Short: "Print the effective values of one key, a group or all keys",
		Long: `Prints the effective values: only the value for one key, otherwise a line per key.
Variables are expanded; values that may be secret are printed as ***. With --origin
the value of each layer follows, highest precedence first, with its file and line.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showConfig(cmd.Context(), p, g, strings.Join(args, ""), origin, asJSON)
		},
		ValidArgsFunction: completeSetting,
	}
	cmd.Flags().BoolVar(&origin, "origin", false, "print the value of each layer with its origin")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func configValidateCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check the settings files, and the variables and flags that are settings",
		Long: `Lists problems with file, line, column and key. The exit code is 4 if one of them
is an error: an unreadable file or an invalid value. An unknown key, or a key that a
project may not set, is a warning.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return validateConfig(cmd.Context(), p, g, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func configPathCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "path",
		Short: "List the settings files, lowest precedence first",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return listConfigFiles(cmd.Context(), p, g, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// completeSetting completes the first argument with keys.
func completeSetting(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var keys []cobra.Completion
	for _, k := range settings.Keys() {
		keys = append(keys, k.Path)
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}

// loadSettings loads the settings for [program.SettingsOptions].
func loadSettings(ctx context.Context, g *program.Flags) (*settings.Result, settings.Options, error) {
	o, err := program.SettingsOptions(ctx, g)
	if err != nil {
		return nil, o, err
	}
	r, err := settings.Load(ctx, o)
	if err != nil {
		return nil, o, program.ConfigFailure(err)
	}
	return r, o, nil
}

func showConfig(ctx context.Context, p *program.Program, g *program.Flags, key string, origin, asJSON bool) error {
	r, o, err := loadSettings(ctx, g)
	if err != nil {
		return err
	}
	path, steps, known := settings.Resolve(key)
	if !known && key != "" {
		return userfiles.UnknownSetting(key)
	}
	list := []settingListing{}
	one := false
	for _, k := range settings.Keys() {
		if key != "" && path != k.Path && !strings.HasPrefix(k.Path, path+".") {
			continue
		}
		one = one || path == k.Path
		l := settingListing{Key: k.Path, Value: r.Shown(k.Path), Origins: r.Origins(k.Path), InForce: r.InForce(k.Path).Layer, Unused: k.Unused}
		l.Key = settings.NameIn(o.Layout, k.Path)
		for i := range l.Origins {
			l.Origins[i].Value = settings.Masked(k.Path, l.Origins[i].Value)
		}
		list = append(list, l.below(steps))
	}
	printProblems(p, r)
	switch {
	case asJSON && one:
		return program.PrintJSON(p.Out, list[0])
	case asJSON:
		return program.PrintJSON(p.Out, list)
	case one && !origin:
		_, err := fmt.Fprintln(p.Out, display.Printable(userfiles.JSONText(list[0].Value)))
		return err
	}
	return printSettings(p.Out, list, origin)
}

// below narrows a listing to a path inside the map of its key, and keeps the layers
// that set it.
func (l settingListing) below(steps []string) settingListing {
	origins := []settings.Origin{} // a list in JSON, too
	if len(steps) > 0 {
		l.Key, l.Value, l.InForce = l.Key+"."+strings.Join(steps, "."), settings.At(l.Value, steps), ""
	}
	for _, o := range l.Origins {
		if len(steps) > 0 {
			if settings.At(o.Value, steps[:1]) == nil {
				continue
			}
			if l.InForce == "" && o.Refused == "" {
				l.InForce = o.Layer
			}
			o.Value = settings.At(o.Value, steps)
		}
		origins = append(origins, o)
	}
	l.Origins = origins
	return l
}

func printSettings(w io.Writer, list []settingListing, origin bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range list {
		note := cmp.Or(string(l.InForce), "not given")
		if l.Unused {
			note += ", not read yet"
		}
		if _, err := fmt.Fprintf(table, "%s\t%s\t%s\n", l.Key, display.Printable(userfiles.JSONText(l.Value)), note); err != nil {
			return err
		}
		for _, o := range l.Origins {
			if !origin {
				break
			}
			place := o.Source
			if o.Line > 0 {
				place = fmt.Sprintf("%s:%d", o.Source, o.Line)
			}
			if o.Refused != "" {
				place += " (" + o.Refused + ")"
			}
			if _, err := fmt.Fprintf(table, "  %s\t%s\t%s\n", o.Layer, display.Printable(userfiles.JSONText(o.Value)), display.Line(place)); err != nil {
				return err
			}
		}
	}
	return table.Flush()
}

// printProblems prints the settings that are ignored because of a problem.
func printProblems(p *program.Program, r *settings.Result) {
	for _, m := range r.Problems {
		if m.Severity == settings.Error {
			p.PrintError(fault.New(fault.InvalidConfig, "cli", m.String(), ""))
		}
	}
}

func validateConfig(ctx context.Context, p *program.Program, g *program.Flags, asJSON bool) error {
	r, o, err := loadSettings(ctx, g)
	if err != nil {
		return err
	}
	checked, err := userfiles.CheckSettings(ctx, g, o, r)
	if err != nil {
		return err
	}
	problems := slices.Concat([]fault.Problem{}, r.Problems, checked)
	for i := range problems {
		problems[i].Key = settings.NameIn(o.Layout, problems[i].Key)
	}
	wrong := slices.ContainsFunc(problems, func(m fault.Problem) bool { return m.Severity == settings.Error })
	if asJSON {
		err = program.PrintJSON(p.Out, settingProblems(problems))
	} else {
		err = printMistakes(p, problems, o)
	}
	if err == nil && wrong {
		return &program.ExitError{Code: program.ExitConfig}
	}
	return err
}

func printMistakes(p *program.Program, problems []fault.Problem, o settings.Options) error {
	for _, m := range problems {
		if _, err := fmt.Fprintf(p.Out, "%s: %s\n", m.Severity, display.Line(m.String())); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return nil
	}
	files := 0
	for _, f := range settings.Files(o) {
		if program.Exists(f.Path) {
			files++
		}
	}
	noun := "settings files"
	if files == 1 {
		noun = "settings file"
	}
	_, err := fmt.Fprintf(p.Out, "No problems in %d %s.\n", files, noun)
	return err
}

func listConfigFiles(ctx context.Context, p *program.Program, g *program.Flags, asJSON bool) error {
	o, err := program.SettingsOptions(ctx, g)
	if err != nil {
		return err
	}
	list := []fileListing{}
	for _, f := range settings.Files(o) {
		list = append(list, fileListing{f.Layer, f.Path, program.Exists(f.Path)})
	}
	if asJSON {
		return program.PrintJSON(p.Out, list)
	}
	table := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	for _, f := range list {
		note := ""
		if !f.Exists {
			note = "  (absent)"
		}
		if _, err := fmt.Fprintf(table, "%s\t%s%s\n", f.Layer, display.Printable(f.Path), note); err != nil {
			return err
		}
	}
	return table.Flush()
}

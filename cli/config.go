package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// settingListing is a key in JSON.
type settingListing struct {
	Key     string            `json:"key"`
	Value   any               `json:"value"`
	Origins []settings.Origin `json:"origins"` // the strongest first
	Unused  bool              `json:"unused,omitempty"`
	InForce settings.Layer    `json:"layer,omitempty"` // the strongest one that has its effect; "": nobody gives a value
}

// fileListing is a settings file in JSON.
type fileListing struct {
	Layer  settings.Layer `json:"layer"`
	Path   string         `json:"path"`
	Exists bool           `json:"exists"`
}

func (p *program) configCommand(g *globalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show, set and check settings",
		Args:  knownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.configShowCommand(g), p.configSetCommand(g), p.configValidateCommand(g), p.configPathCommand(g))
	return cmd
}

func (p *program) configShowCommand(g *globalFlags) *cobra.Command {
	var origin, asJSON bool
	cmd := &cobra.Command{
		Use:   "show [KEY]",
		Short: "Print the values in force, of one key or group or of all",
		Long: `Prints the values in force: of one key the value alone, else a line for each key.
Variables in it are filled in; what may be a secret is printed as ***. With --origin each layer's value follows,
the strongest first, with the file and line that it comes from.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.showConfig(cmd.Context(), g, strings.Join(args, ""), origin, asJSON)
		},
		ValidArgsFunction: completeSetting,
	}
	cmd.Flags().BoolVar(&origin, "origin", false, "print each layer's value and where it comes from")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *program) configValidateCommand(g *globalFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check the settings files, and the variables and flags that are settings",
		Long: `Lists mistakes with file, line, column and key. Ends with 4 if one of them is an
error: a file that cannot be read, or a value that cannot be used. A key that there
is not, or that a project may not set, is a warning.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.validateConfig(cmd.Context(), g, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *program) configPathCommand(g *globalFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "path",
		Short: "List the settings files, the weakest first",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return p.listConfigFiles(cmd.Context(), g, asJSON) },
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

// settingsOptions says which settings the flags and the environment mean, for a
// command that has no session to find out the rest.
func settingsOptions(ctx context.Context, g *globalFlags) (settings.Options, error) {
	names, _ := layout.Named(g.layout) // the flag takes no other name
	project, err := filepath.Abs(g.cwd)
	if err != nil {
		return settings.Options{}, &exitError{code: exitConfig, err: fault.Wrap(fault.InvalidConfig, "cli",
			"The current folder is not known.", "Give --cwd an absolute path.", err)}
	}
	state, err := trustOf(ctx, g, []string{project})
	if err != nil {
		return settings.Options{}, trustFailure(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then there are no settings of the person's
	}
	o := g.givenSettings()
	o.Layout, o.HomeDir, o.ProjectDir, o.DefaultTools = names, home, project, config.DefaultTools(names)
	o.Trusted, o.Undecided = state == trust.Trusted, state == trust.Undecided
	return o, nil
}

// loadSettings loads what settingsOptions says.
func loadSettings(ctx context.Context, g *globalFlags) (*settings.Result, settings.Options, error) {
	o, err := settingsOptions(ctx, g)
	if err != nil {
		return nil, o, err
	}
	r, err := settings.Load(ctx, o)
	if err != nil {
		return nil, o, configFailure(err)
	}
	return r, o, nil
}

// configFailure gives an error of settings its exit code.
func configFailure(err error) error {
	switch fault.CodeOf(err) {
	case fault.Cancelled:
		return interrupted()
	case fault.InvalidConfig:
		return &exitError{code: exitConfig, err: err}
	}
	return err
}

func (p *program) showConfig(ctx context.Context, g *globalFlags, key string, origin, asJSON bool) error {
	r, o, err := loadSettings(ctx, g)
	if err != nil {
		return err
	}
	path, steps, known := settings.Resolve(key)
	if !known && key != "" {
		return unknownSetting(key)
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
	p.tellMistakes(r)
	switch {
	case asJSON && one:
		return printJSON(p.out, list[0])
	case asJSON:
		return printJSON(p.out, list)
	case one && !origin:
		_, err := fmt.Fprintln(p.out, printable(jsonText(list[0].Value)))
		return err
	}
	return printSettings(p.out, list, origin)
}

// unknownSetting is the error of a name that means no setting.
func unknownSetting(key string) error {
	remedy := "fettle config show lists the keys that there are."
	if near := settings.Nearest(key); near != "" {
		remedy = fmt.Sprintf("Perhaps %s is meant.", near)
	}
	return usageError(fmt.Sprintf("There is no setting %s.", cmp.Or(key, `""`)), remedy)
}

// below narrows a listing to what lies some steps down in the map that its key
// holds, and keeps the layers that say something of that.
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
		if _, err := fmt.Fprintf(table, "%s\t%s\t%s\n", l.Key, printable(jsonText(l.Value)), note); err != nil {
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
			if _, err := fmt.Fprintf(table, "  %s\t%s\t%s\n", o.Layer, printable(jsonText(o.Value)), oneLine(place)); err != nil {
				return err
			}
		}
	}
	return table.Flush()
}

// jsonText is a value on one line; nil is a dash.
func jsonText(value any) string {
	if value == nil {
		return "-"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value) // what came from JSON can be written
	}
	return string(text)
}

// tellMistakes complains of what is not in force because of a mistake.
func (p *program) tellMistakes(r *settings.Result) {
	for _, m := range r.Problems {
		if m.Severity == settings.Error {
			p.complain(fault.New(fault.InvalidConfig, "cli", m.String(), ""))
		}
	}
}

func (p *program) validateConfig(ctx context.Context, g *globalFlags, asJSON bool) error {
	r, o, err := loadSettings(ctx, g)
	if err != nil {
		return err
	}
	checked, err := checkSettings(ctx, g, o, r)
	if err != nil {
		return err
	}
	problems := slices.Concat([]fault.Problem{}, r.Problems, checked)
	for i := range problems {
		problems[i].Key = settings.NameIn(o.Layout, problems[i].Key)
	}
	wrong := slices.ContainsFunc(problems, func(m fault.Problem) bool { return m.Severity == settings.Error })
	if asJSON {
		err = printJSON(p.out, settingProblems(problems))
	} else {
		err = p.printMistakes(problems, o)
	}
	if err == nil && wrong {
		return &exitError{code: exitConfig}
	}
	return err
}

// checkSettings finds what only shows when a session begins.
func checkSettings(ctx context.Context, g *globalFlags, o settings.Options, r *settings.Result) ([]fault.Problem, error) {
	checked, err := config.CheckSettings(ctx, config.Parameters{
		TargetDir: o.ProjectDir, HomeDir: o.HomeDir, Layout: o.Layout, Settings: &o,
		PolicyPaths: absolute(g.policyPaths), // which go in the place of the setting
	}, r)
	if err != nil {
		return nil, configFailure(err)
	}
	return checked, nil
}

func (p *program) printMistakes(problems []fault.Problem, o settings.Options) error {
	for _, m := range problems {
		if _, err := fmt.Fprintf(p.out, "%s: %s\n", m.Severity, oneLine(m.String())); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return nil
	}
	files := 0
	for _, f := range settings.Files(o) {
		if exists(f.Path) {
			files++
		}
	}
	noun := "settings files"
	if files == 1 {
		noun = "settings file"
	}
	_, err := fmt.Fprintf(p.out, "There is no mistake in %d %s.\n", files, noun)
	return err
}

func (p *program) listConfigFiles(ctx context.Context, g *globalFlags, asJSON bool) error {
	o, err := settingsOptions(ctx, g)
	if err != nil {
		return err
	}
	list := []fileListing{}
	for _, f := range settings.Files(o) {
		list = append(list, fileListing{f.Layer, f.Path, exists(f.Path)})
	}
	if asJSON {
		return printJSON(p.out, list)
	}
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, f := range list {
		note := ""
		if !f.Exists {
			note = "  (absent)"
		}
		if _, err := fmt.Fprintf(table, "%s\t%s%s\n", f.Layer, printable(f.Path), note); err != nil {
			return err
		}
	}
	return table.Flush()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

package custom

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/skills"
)

// disabledSkills is the settings key for the names of disabled skills.
const disabledSkills = "skills.disabled"

// skillAnswer is the JSON output of enable and disable.
type skillAnswer struct {
	Name    string   `json:"name"`
	Enabled bool     `json:"enabled"` // the effective state, from all files
	Changed []string `json:"changed"` // written files
}

func skillsEnableCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	scope := ""
	cmd := &cobra.Command{
		Use:   "enable NAME",
		Short: "Enable a skill",
		Long: `Removes a skill from the list skills.disabled of your settings file and of the
project's, or with --scope of one of them.`,
		Args: program.ExactlyOne("Exactly one skill name is required.", "fettle skills list --all lists them."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return enableSkill(cmd.Context(), p, g, scopeLayer(scope), args[0], asJSON)
		},
		ValidArgsFunction: completeSkills(p, g),
	}
	choice := program.NewChoice(&scope, "user", "workspace", "project")
	scope = ""
	cmd.Flags().Var(choice, "scope", "settings file: user|workspace (default: both)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func skillsDisableCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	scope := ""
	cmd := &cobra.Command{
		Use:   "disable NAME",
		Short: "Disable a skill",
		Long: `Adds a skill to the list skills.disabled of the project's settings file, or with
--scope user of yours.`,
		Args: program.ExactlyOne("Exactly one skill name is required.", "fettle skills list lists them."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return disableSkill(cmd.Context(), p, g, scopeLayer(scope), args[0], asJSON)
		},
		ValidArgsFunction: completeSkills(p, g),
	}
	cmd.Flags().Var(program.NewChoice(&scope, "workspace", "user", "project"), "scope", "settings file: user|workspace")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// scopeLayer returns the settings layer of a scope; "" if it is unknown.
func scopeLayer(scope string) settings.Layer {
	if scope == "workspace" {
		return settings.LayerProject
	}
	return settings.Layer(scope)
}

func enableSkill(ctx context.Context, p *program.Program, g *program.Flags, scope settings.Layer, name string, asJSON bool) error {
	o, r, err := loadedSettings(ctx, g)
	if err != nil {
		return err
	}
	answer := skillAnswer{Name: name, Enabled: true, Changed: []string{}}
	for _, origin := range r.Origins(disabledSkills) {
		names := listOf(origin.Value)
		left := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return strings.EqualFold(n, name) })
		mine := origin.Layer == settings.LayerUser || origin.Layer == settings.LayerProject
		switch {
		case len(left) == len(names):
		case !mine || scope != "" && origin.Layer != scope:
			answer.Enabled = false
			p.PrintError(fault.New(fault.InvalidConfig, "cli.skills", fmt.Sprintf("The skill %q is still disabled by %s.", name, origin.Source), ""))
		default:
			var value any
			if len(left) > 0 {
				value = left
			}
			path, err := writeSetting(ctx, o, origin.Layer, disabledSkills, value)
			if err != nil {
				return err
			}
			answer.Changed = append(answer.Changed, path)
		}
	}
	if len(answer.Changed) == 0 && answer.Enabled {
		if err := withSkills(ctx, p, g, func(m *skills.SkillManager) error {
			if _, ok := m.Get(name); !ok {
				return noSkill(name)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return printSkill(p, answer, asJSON)
}

func disableSkill(ctx context.Context, p *program.Program, g *program.Flags, scope settings.Layer, name string, asJSON bool) error {
	err := withSkills(ctx, p, g, func(m *skills.SkillManager) error {
		s, ok := m.Get(name)
		if !ok {
			return noSkill(name)
		}
		name = s.Name
		return nil
	})
	if err != nil {
		return err
	}
	o, r, err := loadedSettings(ctx, g)
	if err != nil {
		return err
	}
	answer := skillAnswer{Name: name, Changed: []string{}}
	var names []string
	for _, origin := range r.Origins(disabledSkills) {
		if origin.Layer == scope {
			names = listOf(origin.Value)
		}
	}
	if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
		path, err := writeSetting(ctx, o, scope, disabledSkills, append(names, name))
		if err != nil {
			return err
		}
		answer.Changed = append(answer.Changed, path)
	}
	return printSkill(p, answer, asJSON)
}

// printSkill prints the new state of a skill.
func printSkill(p *program.Program, a skillAnswer, asJSON bool) error {
	if asJSON {
		return program.PrintJSON(p.Out, a)
	}
	state, where := "disabled", " already"
	if a.Enabled {
		state = "enabled"
	}
	if len(a.Changed) > 0 {
		where = " in " + strings.Join(a.Changed, " and ")
	}
	_, err := fmt.Fprintf(p.Out, "The skill %s is %s%s.\n", display.Printable(a.Name), state, display.Printable(where))
	return err
}

// loadedSettings returns the settings of the program.
func loadedSettings(ctx context.Context, g *program.Flags) (settings.Options, *settings.Result, error) {
	o, err := program.SettingsOptions(ctx, g)
	if err != nil {
		return o, nil, err
	}
	r, err := settings.Load(ctx, o)
	if err != nil {
		return o, nil, program.ConfigFailure(err)
	}
	return o, r, nil
}

// writeSetting sets a key in the file of a layer, or removes it if value is nil, and
// returns the file.
func writeSetting(ctx context.Context, o settings.Options, layer settings.Layer, key string, value any) (string, error) {
	files := settings.Files(o)
	i := slices.IndexFunc(files, func(f settings.File) bool { return f.Layer == layer })
	if i < 0 {
		return "", program.UsageError(fmt.Sprintf("There is no %s settings file here.", layer), "fettle config path lists the settings files.")
	}
	path := files[i].Path
	var err error
	if layer == settings.LayerProject {
		err = settings.SetIn(ctx, o.ProjectDir, path, key, value)
	} else {
		err = settings.Set(ctx, path, key, value)
	}
	if err != nil {
		return "", program.ConfigFailure(err)
	}
	return path, nil
}

// listOf returns the strings of a list in settings.
func listOf(value any) []string {
	var texts []string
	switch v := value.(type) {
	case []string:
		return slices.Clone(v)
	case []any:
		for _, entry := range v {
			if text, ok := entry.(string); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

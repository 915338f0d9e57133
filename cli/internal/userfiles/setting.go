// Package userfiles changes the user's files for shell commands and session commands:
// settings, hook approvals, and the approvals of a trusted project.
package userfiles

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// SetConfig writes a value to the settings file of a scope and prints the result,
// including why the value is not effective. A nil value removes the key.
func SetConfig(ctx context.Context, p *program.Program, g *program.Flags, scope settings.Layer, key string, value any, asJSON bool) error {
	w, err := WriteSetting(ctx, g, scope, key, value)
	if err != nil {
		return err
	}
	for _, note := range w.Notes {
		p.PrintError(fault.New(fault.InvalidConfig, "cli", note, ""))
	}
	if asJSON {
		return program.PrintJSON(p.Out, settingAnswer{key, w.Path, settings.Masked(strings.Join(append([]string{w.Key}, w.steps...), "."), value)})
	}
	did := "is set in"
	if value == nil {
		did = "is removed from"
	}
	_, err = fmt.Fprintf(p.Out, "%s %s %s.\n", display.Printable(key), did, display.Printable(w.Path))
	return err
}

// Written is the result of [WriteSetting].
type Written struct {
	Path  string   // the settings file
	Key   string   // the full key
	Notes []string // why the value is not effective, or why no session can start with it

	steps []string // in the map of the key
}

// WriteSetting writes a value to the settings file of a scope. A nil value removes the
// key.
func WriteSetting(ctx context.Context, g *program.Flags, scope settings.Layer, key string, value any) (Written, error) {
	o, err := program.SettingsOptions(ctx, g)
	if err != nil {
		return Written{}, err
	}
	path, steps, known := settings.Resolve(key)
	if !known {
		return Written{}, UnknownSetting(key)
	}
	files := settings.Files(o)
	i := slices.IndexFunc(files, func(f settings.File) bool { return f.Layer == scope })
	if i < 0 {
		return Written{}, program.UsageError(fmt.Sprintf("There is no %s settings file here.", scope), "fettle config path lists the settings files.")
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
		return Written{}, program.ConfigFailure(err)
	}
	r, err := settings.Load(ctx, o)
	if err != nil {
		return Written{}, program.ConfigFailure(err)
	}
	w := Written{Path: files[i].Path, Key: path, steps: steps, Notes: withoutEffect(r, path, steps, files[i], value)}
	checked, err := CheckSettings(ctx, g, o, r)
	if err != nil {
		return w, err
	}
	for _, m := range checked {
		if m.Open {
			w.Notes = append(w.Notes, m.String())
		}
	}
	return w, nil
}

// withoutEffect returns why a value that was set is not effective.
func withoutEffect(r *settings.Result, key string, steps []string, file settings.File, value any) (notes []string) {
	for _, m := range r.Problems {
		about := m.Key == key || strings.HasPrefix(m.Key, key+".")
		if m.Path == file.Path && about && value != nil {
			notes = append(notes, m.String())
		}
	}
	o := r.InForce(key)
	if value == nil || len(steps) > 0 || o.Source == "" || o.Source == file.Path || reflect.DeepEqual(o.Value, value) {
		return notes
	}
	return append(notes, fmt.Sprintf("The value of %s is set by %s, which takes precedence: %s.", key, o.Source, JSONText(settings.Masked(key, o.Value))))
}

// settingAnswer is the JSON output of config set.
type settingAnswer struct {
	Key   string `json:"key"`
	Path  string `json:"path"`
	Value any    `json:"value"` // null: the key was removed
}

// CheckSettings returns the problems that show only when a session starts.
func CheckSettings(ctx context.Context, g *program.Flags, o settings.Options, r *settings.Result) ([]fault.Problem, error) {
	checked, err := config.CheckSettings(ctx, config.Parameters{
		TargetDir: o.ProjectDir, Environment: config.Environment{HomeDir: o.HomeDir, Layout: o.Layout}, Settings: &o,
		Policy: config.Policy{Paths: program.Absolute(g.PolicyPaths)}, // replace the setting
	}, r)
	if err != nil {
		return nil, program.ConfigFailure(err)
	}
	return checked, nil
}

// UnknownSetting returns the error for an unknown setting.
func UnknownSetting(key string) error {
	remedy := "fettle config show lists the keys."
	if near := settings.Nearest(key); near != "" {
		remedy = fmt.Sprintf("Did you mean %s?", near)
	}
	return program.UsageError(fmt.Sprintf("Unknown setting %s.", cmp.Or(key, `""`)), remedy)
}

// JSONText returns a value as JSON on one line; nil is a dash.
func JSONText(value any) string {
	if value == nil {
		return "-"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value) // a value decoded from JSON can be encoded
	}
	return string(text)
}

package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/docs"
)

// unset is the argument of /settings that removes a key from the user's settings.
const unset = "--unset"

// settingsCommand is /settings: it lists the settings and changes those of the user.
func (l listLoader) settingsCommand() *commands.Command {
	return &commands.Command{
		Name: "settings", Description: "Lists the settings, or changes yours: /settings KEY VALUE, or /settings KEY " + unset, Kind: commands.KindBuiltIn, AutoExecute: true,
		Action: func(ctx context.Context, _ *commands.Context, args string) (commands.Result, error) {
			key, value, given := strings.Cut(args, " ")
			switch value = strings.TrimSpace(value); {
			case key == "":
				return nil, l.pick(ctx, func(ctx context.Context) (interactive.Pick, error) { return l.pickSetting(ctx, "") })
			case !given:
				return nil, l.editSetting(ctx, key)
			case value == unset:
				return nil, l.changeSetting(ctx, key, nil)
			}
			return nil, l.changeSetting(ctx, key, settings.ParseValue(key, value))
		},
		Completion: func(_ context.Context, _ *commands.Context, typed string) (found []commands.Candidate, _ error) {
			for _, k := range settings.Keys() {
				if !k.Unused && strings.HasPrefix(k.Path, typed) {
					found = append(found, commands.Candidate{Value: k.Path, Description: k.Expected})
				}
			}
			return found, nil
		},
	}
}

// loadSettings reads the settings files as they are now, which a running session may
// apply only in part.
func (c *chat) loadSettings(ctx context.Context) (*settings.Result, settings.Options, error) {
	o, err := program.SettingsOptions(ctx, c.global)
	if err != nil {
		return nil, o, err
	}
	r, err := settings.Load(ctx, o)
	return r, o, err
}

// pickSetting returns the list of /settings, with a key selected.
func (c *chat) pickSetting(ctx context.Context, selected string) (interactive.Pick, error) {
	r, o, err := c.loadSettings(ctx)
	if err != nil {
		return interactive.Pick{}, err
	}
	return settingList(r, o, settingDescriptions(), selected), nil
}

// settingList returns the list of settings that have an effect.
func settingList(r *settings.Result, o settings.Options, descriptions map[string]string, selected string) interactive.Pick {
	p := interactive.Pick{Title: "Settings", Usage: "/settings KEY VALUE changes yours; fettle config show --origin shows all layers."}
	for _, k := range settings.Keys() {
		if k.Unused {
			continue
		}
		name := settings.NameIn(o.Layout, k.Path)
		description := descriptions[k.Path]
		if layer := r.InForce(k.Path).Layer; layer != "" && layer != settings.LayerDefault {
			description = "(" + string(layer) + ") " + description
		}
		p.Items = append(p.Items, interactive.PickItem{
			Name: name, State: userfiles.JSONText(r.Shown(k.Path)), Description: description,
			Detail: settingDetail(r, k, descriptions[k.Path]), Submit: "/settings " + name, Selected: k.Path == selected,
		})
	}
	return p
}

// settingDetail describes a key and its value in each layer, the effective one first.
func settingDetail(r *settings.Result, k settings.Key, description string) string {
	lines := []string{description, "Takes " + k.Expected + "."}
	for _, o := range r.Origins(k.Path) {
		line := fmt.Sprintf("%s: %s", o.Layer, userfiles.JSONText(settings.Masked(k.Path, o.Value)))
		if o.Source != "" {
			line += ", " + o.Source
		}
		if o.Line > 0 {
			line += fmt.Sprintf(":%d", o.Line)
		}
		if o.Refused != "" {
			line += " (without effect: " + o.Refused + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// settingDescriptions returns the descriptions of the keys from the schema of settings
// files.
func settingDescriptions() map[string]string {
	type node struct {
		Description string
		Properties  map[string]json.RawMessage
		AnyOf       []json.RawMessage // a group that accepts a single value, too
	}
	all := map[string]string{}
	var walk func(path string, raw json.RawMessage)
	walk = func(path string, raw json.RawMessage) {
		var n node
		if json.Unmarshal(raw, &n) != nil {
			return
		}
		all[path] = cmp.Or(all[path], n.Description)
		for _, form := range n.AnyOf {
			walk(path, form)
		}
		for name, below := range n.Properties {
			walk(strings.TrimPrefix(path+"."+name, "."), below)
		}
	}
	walk("", docs.SettingsSchema())
	return all
}

// editSetting changes a setting as its type permits: it inverts a boolean, lists the
// values of an enumeration, and asks for other values.
func (c *chat) editSetting(ctx context.Context, key string) error {
	path, steps, known := settings.Resolve(key)
	i := slices.IndexFunc(settings.Keys(), func(k settings.Key) bool { return k.Path == path })
	if !known || i < 0 || len(steps) > 0 {
		return userfiles.UnknownSetting(key)
	}
	k := settings.Keys()[i]
	r, _, err := c.loadSettings(ctx)
	if err != nil {
		return err
	}
	if k.Path == themeSetting && c.lists {
		return c.pick(ctx, c.pickTheme)
	}
	value := r.Value(k.Path)
	if on, is := value.(bool); is {
		if err := c.changeSetting(ctx, key, !on); err != nil || !c.lists {
			return err
		}
		return c.pick(ctx, func(ctx context.Context) (interactive.Pick, error) { return c.pickSetting(ctx, k.Path) })
	}
	if words, is := strings.CutPrefix(k.Expected, "one of "); is {
		return c.pick(ctx, func(context.Context) (interactive.Pick, error) {
			return valueList(key, strings.Split(words, ", "), value), nil
		})
	}
	if k.Expected == "an object" {
		return fault.New(fault.InvalidToolParams, "cli.settings", "The setting "+key+" has entries with names.", "Set one with /settings "+key+".NAME VALUE, or edit the settings file.")
	}
	return c.askSetting(ctx, key, k, r)
}

// valueList returns the list of the values of an enumeration.
func valueList(key string, values []string, current any) interactive.Pick {
	p := interactive.Pick{Title: key, Usage: "/settings " + key + " VALUE selects a value."}
	for _, value := range values {
		item := interactive.PickItem{Name: value, Submit: "/settings " + key + " " + value, Selected: value == current}
		if item.Selected {
			item.State = "current"
		}
		p.Items = append(p.Items, item)
	}
	p.Items = append(p.Items, interactive.PickItem{Name: "(remove)", Description: "use the value of the other layers", Submit: "/settings " + key + " " + unset})
	return p
}

// askSetting asks for the value of a key until it is valid or the user cancels.
func (c *chat) askSetting(ctx context.Context, key string, k settings.Key, r *settings.Result) error {
	question := fmt.Sprintf("The new value of %s: %s, now %s.", key, k.Expected, userfiles.JSONText(r.Shown(k.Path)))
	if strings.HasPrefix(k.Expected, "a list") {
		question += ` Write a list as JSON, as ["a", "b"].`
	}
	for problem := ""; ; {
		answer, err := bus.Ask(ctx, c.Bus(), bus.AskUserRequest{Program: true, Questions: []bus.UserQuestion{{
			Question: strings.TrimSpace(problem + " " + question), Header: "Setting", Type: bus.QuestionText, Placeholder: k.Expected,
		}}})
		text := strings.TrimSpace(answer.Answers["0"])
		switch {
		case err != nil:
			return err
		case answer.Cancelled || text == "":
			c.say("The setting is unchanged.")
			return nil
		}
		err = c.changeSetting(ctx, key, settings.ParseValue(key, text))
		if fault.CodeOf(err) != fault.InvalidConfig {
			return err
		}
		problem = fault.As(err).Message
	}
}

// changeSetting writes a value to the user's settings, nil to remove the key, and says
// when it takes effect.
func (c *chat) changeSetting(ctx context.Context, key string, value any) error {
	path, _, _ := settings.Resolve(key)
	if name, is := value.(string); is && path == themeSetting {
		return c.setTheme(ctx, name)
	}
	if err := c.saveSetting(ctx, key, value); err != nil {
		return err
	}
	text := key + " is " + userfiles.JSONText(settings.Masked(path, value)) + " in your settings."
	if value == nil {
		text = key + " is removed from your settings."
	}
	if err := c.config.Settings().Reload(ctx); err != nil {
		return err
	}
	problems, err := c.config.Settings().Problems()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(problems, func(p fault.Problem) bool { return p.Kind == settings.KindLater && p.Key == path }) {
		text += " It takes effect in the next session."
	}
	c.say(text)
	return nil
}

package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/chat/lists"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// settingsCommand is /settings: it lists the settings and changes those of the user.
func (l listLoader) settingsCommand() *commands.Command {
	return &commands.Command{
		Name: "settings", Description: "Lists the settings, or changes yours: /settings KEY VALUE, or /settings KEY " + lists.Unset, Kind: commands.KindBuiltIn, AutoExecute: true,
		Action: func(ctx context.Context, _ *commands.Context, args string) (commands.Result, error) {
			key, value, given := strings.Cut(args, " ")
			switch value = strings.TrimSpace(value); {
			case key == "":
				return nil, l.pick(ctx, func(ctx context.Context) (interactive.Pick, error) { return l.pickSetting(ctx, "") })
			case !given:
				return nil, l.editSetting(ctx, key)
			case value == lists.Unset:
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
	return lists.Settings(r, o, selected), nil
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
			return lists.Values(key, strings.Split(words, ", "), value), nil
		})
	}
	if k.Expected == "an object" {
		return fault.New(fault.InvalidToolParams, "cli.settings", "The setting "+key+" has entries with names.", "Set one with /settings "+key+".NAME VALUE, or edit the settings file.")
	}
	return c.askSetting(ctx, key, k, r)
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

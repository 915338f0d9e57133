package chat

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/chat/lists"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/fault"
)

// themeSetting is the setting of the theme.
const themeSetting = "ui.theme"

// themeCommand is /theme: it selects a theme for this and later sessions.
func (l listLoader) themeCommand() *commands.Command {
	return &commands.Command{
		Name: "theme", Description: "Lists the colour themes, or selects one: /theme NAME", Kind: commands.KindBuiltIn, AutoExecute: true,
		Action: func(ctx context.Context, _ *commands.Context, name string) (commands.Result, error) {
			if name == "" {
				return nil, l.pick(ctx, l.pickTheme)
			}
			return nil, l.setTheme(ctx, name)
		},
		Completion: func(_ context.Context, _ *commands.Context, typed string) (found []commands.Candidate, _ error) {
			for _, name := range theme.Names() {
				if strings.HasPrefix(name, typed) {
					found = append(found, commands.Candidate{Value: name, Description: lists.AboutTheme(name)})
				}
			}
			return found, nil
		},
	}
}

// pickTheme returns the list of /theme.
func (c *chat) pickTheme(context.Context) (interactive.Pick, error) {
	set, err := c.config.Settings().Current()
	if err != nil {
		return interactive.Pick{}, err
	}
	return lists.Themes(cmp.Or(c.themeName, set.UI.Theme, theme.Default)), nil
}

// setTheme selects a theme, and stores it in the user's settings.
func (c *chat) setTheme(ctx context.Context, name string) error {
	if err := theme.Check(name); err != nil {
		return fault.New(fault.InvalidToolParams, "cli.theme", fmt.Sprintf("Unknown theme %q.", name), "Use one of "+strings.Join(theme.Names(), ", ")+".")
	}
	c.themeName = name
	if c.now != nil {
		c.now.send(interactive.Event{Kind: interactive.EventTheme, Text: name})
	}
	if err := c.saveSetting(ctx, themeSetting, name); err != nil {
		return err
	}
	c.say("The theme is " + name + ", also in later sessions.")
	return nil
}

package chat

import (
	"context"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/fault"
)

// listLoader loads the commands of the program. In front ends that show lists, some of
// them open one if they have no arguments, instead of printing text.
type listLoader struct {
	*chat
	commands.Loader
}

// Load implements [commands.Loader].
func (l listLoader) Load(ctx context.Context) ([]*commands.Command, []fault.Problem, error) {
	all, problems, err := l.Loader.Load(ctx)
	opens := map[string]func(context.Context) (interactive.Pick, error){
		"model": l.pickModel,
		"mcp":   l.pickServer,
	}
	for _, c := range all {
		if open := opens[c.Name]; open != nil {
			c.Action = l.listing(c.Action, open)
		}
		if c.Name == "mcp" {
			c.SubCommands = append(c.SubCommands, l.serverCommand())
		}
	}
	return append(all, l.resumeCommand(), l.rewindCommand(), l.settingsCommand(), l.themeCommand()), problems, err
}

// action is the action of a command.
type action = func(ctx context.Context, c *commands.Context, args string) (commands.Result, error)

// listing returns an action that shows a list if there are no arguments, and otherwise,
// or without lists, is act.
func (l listLoader) listing(act action, open func(context.Context) (interactive.Pick, error)) action {
	return func(ctx context.Context, c *commands.Context, args string) (commands.Result, error) {
		if args != "" || !l.lists {
			return act(ctx, c, args)
		}
		return nil, l.pick(ctx, open)
	}
}

// pick sends a list to the front end, for a running input.
func (c *chat) pick(ctx context.Context, open func(context.Context) (interactive.Pick, error)) error {
	list, err := open(ctx)
	if err == nil && c.now != nil {
		c.now.send(interactive.Event{Kind: interactive.EventPick, Pick: &list})
	}
	return err
}

package builtin

import (
	"context"

	"github.com/fettle-dev/fettle/core/commands"
)

// reasonClear is the reason and source in the input of session hooks.
const reasonClear = "clear"

func clearCommand(s *Services) *commands.Command {
	return &commands.Command{
		Name: "clear", AltNames: []string{"new"}, Description: "Clears the screen and starts a new conversation.", AutoExecute: true,
		Action: func(ctx context.Context, _ *commands.Context, _ string) (commands.Result, error) {
			return s.Clear.run(ctx)
		},
	}
}

// run starts a new conversation in a fixed order: hooks of the session's end, chat, new
// session, hooks of its start, token count, and as its result the screen, with the
// messages of those hooks. An error ends it at that step.
func (c *Clear) run(ctx context.Context) (commands.Result, error) {
	if c.Hooks != nil {
		c.Hooks.SessionEnd(ctx, reasonClear)
	}
	if c.Chat != nil {
		if err := c.Chat.Reset(ctx); err != nil {
			return nil, err
		}
	}
	if _, err := c.Session.StartNewSession(ctx); err != nil {
		return nil, err
	}
	message := ""
	if c.Hooks != nil {
		message = c.Hooks.SessionStart(ctx, reasonClear)
	}
	if c.Tokens != nil {
		c.Tokens.SetTokens(0)
	}
	if message == "" {
		return commands.ClearScreen{}, nil
	}
	return commands.ClearScreen{Message: &commands.Message{Level: commands.LevelInfo, Text: message}}, nil
}

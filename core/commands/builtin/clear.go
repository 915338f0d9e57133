package builtin

import (
	"context"

	"github.com/fettle-dev/fettle/core/commands"
)

// reasonClear is what hooks are told of why a session ends and begins.
const reasonClear = "clear"

func clearCommand(s *Services) *commands.Command {
	return &commands.Command{
		Name: "clear", AltNames: []string{"new"}, Description: "Begins a new conversation on an empty screen.", AutoExecute: true,
		Action: func(ctx context.Context, _ *commands.Context, _ string) (commands.Result, error) {
			return s.Clear.run(ctx)
		},
	}
}

// run begins anew, in the order of CM-11: the hooks of the session's end, the chat,
// the new session, the hooks of its start, the count of tokens, and as its result the
// screen, with what those hooks want to be told. An error ends it where it is.
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
	said := ""
	if c.Hooks != nil {
		said = c.Hooks.SessionStart(ctx, reasonClear)
	}
	if c.Tokens != nil {
		c.Tokens.SetTokens(0)
	}
	if said == "" {
		return commands.ClearScreen{}, nil
	}
	return commands.ClearScreen{Message: &commands.Message{Level: commands.LevelInfo, Text: said}}, nil
}

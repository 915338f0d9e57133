package chat

import (
	"context"
	"strings"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/internal/firstrun"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
)

// readyModel makes sure that the session has a model. At a terminal it asks for a provider
// and a key if there is none, and for a model if several providers have a key. The session
// uses the answers at once.
func (c *chat) readyModel(ctx context.Context) error {
	name := c.config.Model()
	missing := c.CheckModel(ctx, name)
	defaults, unchosen := c.IsUnchosen(name)
	if missing == nil && (!unchosen || len(defaults) < 2) {
		return nil
	}
	user, done := approval.NewPrompter(c.In, c.Out)
	defer done()
	if !user.IsThere() {
		return missing
	}
	s := &firstrun.Setup{Program: c.Program, Flags: c.global, Variables: c.Traffic.Variables}
	if missing == nil {
		chosen, err := s.AskModel(ctx, user, defaults, c.Traffic.Models.Origin)
		if err != nil {
			return program.Interrupted()
		}
		c.config.SetModel(chosen)
		return nil
	}
	wanted := firstrun.Wanted{}
	if !unchosen {
		resolved, err := c.Traffic.Models.Resolve(name)
		if err != nil || resolved.Provider == "script" {
			return missing
		}
		wanted = firstrun.Wanted{Provider: resolved.Provider, Model: true}
	}
	reason, _, _ := strings.Cut(fault.As(missing).Message, "\n")
	firstrun.Say(user, reason+" Choose a provider; its key is stored for later sessions.")
	saved, ok, err := s.Ask(ctx, user, wanted)
	switch {
	case ctx.Err() != nil:
		return program.Interrupted()
	case err != nil:
		return err
	case !ok:
		return missing
	case saved.Model != "":
		c.config.SetModel(saved.Model)
	}
	return nil
}

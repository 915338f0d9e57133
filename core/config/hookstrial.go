package config

import (
	"context"

	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/tools"
)

// trialKey is of a context in which hooks are tried.
type trialKey struct{}

// isTrial reports whether hooks are tried.
func isTrial(ctx context.Context) bool { return ctx.Value(trialKey{}) != nil }

// TryHooks runs the hooks of an event as a session would, with what in says of it,
// and returns what they want together; nothing follows from it, and nothing is recorded
// of hooks that nobody has approved of before. What is empty of a
// session in in is this one's.
func (c *Config) TryHooks(ctx context.Context, in hooks.Input) (hooks.Effect, error) {
	sh, err := c.services("TryHooks")
	if err != nil {
		return hooks.Effect{}, err
	}
	s, err := c.own("TryHooks")
	if err != nil {
		return hooks.Effect{}, err
	}
	about := hookSubject(tools.Spec{Name: in.ToolName}) // by its well-known names, where there is no such tool
	if tool, err := s.registry.Lookup(in.ToolName); err == nil {
		about = s.hookSubject(tool.Spec())
	}
	for _, text := range []string{in.Source, in.Reason, in.Trigger} {
		if text != "" {
			about.Text = text
		}
	}
	return sh.hooks.runner.Load().Fire(context.WithValue(ctx, trialKey{}, true), c.hookInput(sh, in), about), nil
}

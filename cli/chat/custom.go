package chat

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
	"github.com/fettle-dev/fettle/core/model"
)

// chatHooks serves /clear and /hooks.
type chatHooks struct{ *chat }

// SessionEnd implements [builtin.SessionHooks].
func (c chatHooks) SessionEnd(ctx context.Context, reason string) {
	for _, text := range c.endMessages(ctx, reason) {
		c.say(text)
	}
}

// endMessages runs the session end hooks and returns their messages, for which no
// other listener remains.
func (c *chat) endMessages(ctx context.Context, reason string) []string {
	listening, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	heard := program.ListenHooks(listening, c.session.MessageBus())
	program.EndSession(ctx, c.config, reason)
	var messages []string
	add := func(text string) { messages = append(messages, text) }
	heard.Report(listening, add, add)
	return messages
}

// SessionStart implements [builtin.SessionHooks]. The context that hooks add for the
// model is sent with the next prompt.
func (c chatHooks) SessionStart(ctx context.Context, source string) string {
	started, err := c.config.Hooks().SessionStarted(ctx, source)
	if err != nil { // the session is closed
		return ""
	}
	if started.Context != "" {
		c.addContext(model.TextPart(started.Context))
	}
	messages := make([]string, len(started.Messages))
	for i, m := range started.Messages {
		messages[i] = program.HookLine(m)
	}
	return strings.Join(messages, "\n\n")
}

// List implements [builtin.Hooks].
func (c chatHooks) List() []builtin.Hook {
	all, err := c.config.Hooks().List(context.Background()) // it reads a few files
	if err != nil {                                         // the session is closed
		return nil
	}
	var list []builtin.Hook
	for _, h := range all {
		l := userfiles.HookOf(h)
		source := cmp.Or(l.Path, string(l.Source))
		if l.Extension != "" {
			source = "extension " + l.Extension
		}
		list = append(list, builtin.Hook{
			Name: l.Name, Event: string(l.Event), Matcher: l.Matcher, Command: l.Command, Source: source,
			Enabled: h.State != hookresult.Disabled, Trusted: h.State != hookresult.Untrusted && h.State != hookresult.Changed,
		})
	}
	return list
}

// SetEnabled implements [builtin.Hooks].
func (c chatHooks) SetEnabled(ctx context.Context, name string, on bool) error {
	return userfiles.SwitchHook(ctx, c.Program, c.global, name, on, false)
}

// Trust implements [builtin.Hooks].
func (c chatHooks) Trust(ctx context.Context) (string, error) {
	names, err := c.config.Hooks().Approve(ctx)
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "The project has no hooks for this system.", nil
	}
	return "These hooks of the project are approved as they are now: " + strings.Join(names, ", ") + ".", nil
}

// chatSkills serves /skill and /skills.
type chatSkills struct{ *chat }

// List implements [builtin.Skills].
func (c chatSkills) List() []builtin.Skill {
	manager, err := c.config.Skills().Manager()
	if err != nil { // the session is closed
		return nil
	}
	enabled := manager.Enabled()
	active, _ := c.config.Skills().Active() // as above
	var list []builtin.Skill
	for _, s := range manager.All() {
		source := string(s.Scope)
		if s.Extension != "" {
			source += " " + s.Extension
		}
		b := builtin.Skill{Name: s.Name, Description: s.Description, Source: source, Active: slices.Contains(active, s.Name)}
		for _, e := range enabled {
			b.Enabled = b.Enabled || e.Name == s.Name
		}
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b builtin.Skill) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Activate implements [builtin.Skills].
func (c chatSkills) Activate(ctx context.Context, name string) error {
	_, err := c.config.Skills().Activate(ctx, name)
	return err
}

// SetEnabled implements [builtin.Skills].
func (c chatSkills) SetEnabled(_ context.Context, name string, on bool) error {
	return c.config.Skills().SetEnabled(name, on)
}

// Reload implements [builtin.Skills].
func (c chatSkills) Reload(ctx context.Context) ([]string, error) {
	if err := c.config.Skills().Reload(ctx); err != nil {
		return nil, err
	}
	manager, err := c.config.Skills().Manager()
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, p := range manager.Problems() {
		problems = append(problems, p.String())
	}
	return problems, nil
}

// chatExtensions serves /extensions.
type chatExtensions struct{ *chat }

// List implements [builtin.Extensions].
func (c chatExtensions) List() []builtin.Extension {
	all, err := c.config.Extensions().List()
	if err != nil { // the session is closed
		return nil
	}
	problems, _ := c.config.Extensions().Problems() // as above
	var list []builtin.Extension
	for _, e := range all {
		b := builtin.Extension{Name: e.Name, Version: e.Version, Path: e.Path, Active: e.Active, Problem: e.Inactive}
		for _, p := range problems {
			if p.Extension == e.Name {
				b.Problem = p.String()
			}
		}
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b builtin.Extension) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// SetEnabled implements [builtin.Extensions].
func (c chatExtensions) SetEnabled(ctx context.Context, name string, on bool) error {
	set := c.config.Extensions().Enable
	if !on {
		set = c.config.Extensions().Disable
	}
	if err := set(ctx, name); err != nil {
		return err
	}
	_, err := c.loadCommands(ctx)
	return err
}

// Reload implements [builtin.Extensions].
func (c chatExtensions) Reload(ctx context.Context) ([]string, error) {
	if err := c.config.Extensions().Reload(ctx); err != nil {
		return nil, err
	}
	found, err := c.config.Extensions().Problems()
	if err != nil {
		return nil, err
	}
	problems := texts(found)
	more, err := c.loadCommands(ctx)
	for _, p := range more {
		problems = append(problems, p.String())
	}
	return problems, err
}

func texts(problems []fault.Problem) []string {
	list := make([]string, len(problems))
	for i, p := range problems {
		list[i] = p.String()
	}
	return list
}

package builtin

import (
	"context"
	"strings"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// skillCommand is /skill NAME: it adds the instructions to the system prompt, and sends
// the text after the name to the model.
func skillCommand(s *Services) *commands.Command {
	return &commands.Command{
		Name: "skill", Description: "Activates a skill: /skill NAME TASK",
		Action: func(ctx context.Context, _ *commands.Context, args string) (commands.Result, error) {
			name, task := words(args)
			if name == "" {
				return nil, missing("name of the skill", "Type /skill NAME; /skills list lists the skills.")
			}
			if err := s.Skills.Activate(ctx, name); err != nil {
				return nil, err
			}
			if task == "" {
				return info("The skill %s is active.", code(name)), nil
			}
			return commands.SubmitPrompt{Content: tools.Text(task)}, nil
		},
		Completion: func(_ context.Context, _ *commands.Context, partial string) (found []commands.Candidate, _ error) {
			for _, skill := range s.Skills.List() {
				if skill.Enabled {
					found = append(found, commands.Candidate{Value: skill.Name, Description: skill.Description})
				}
			}
			return beginning(found, partial), nil
		},
	}
}

func skillsCommand(s *Services) *commands.Command {
	list := func(context.Context) (commands.Result, error) {
		var b strings.Builder
		for _, skill := range s.Skills.List() {
			item(&b, skill.Name, line(skill.Description)+" ("+line(strings.Join(skillState(skill), ", "))+")")
		}
		return titled("The skills:", &b, "There are no skills. A directory skills/NAME with a SKILL.md in the settings directory makes one."), nil
	}
	return &commands.Command{
		Name: "skills", Description: "Lists, enables, disables or reloads the skills.", AutoExecute: true,
		Action: withoutArgs(list),
		SubCommands: append([]*commands.Command{
			plain("list", "Lists them.", list),
			plain("reload", "Reloads them.", reload("The skills were reloaded.", func(ctx context.Context) ([]string, error) { return s.Skills.Reload(ctx) }), "refresh"),
		}, switches("skill", func(on bool) (found []commands.Candidate) {
			for _, skill := range s.Skills.List() {
				if skill.Enabled != on {
					found = append(found, commands.Candidate{Value: skill.Name, Description: skill.Description})
				}
			}
			return found
		}, func(ctx context.Context, name string, on bool) error { return s.Skills.SetEnabled(ctx, name, on) })...),
	}
}

func skillState(skill Skill) []string {
	state := []string{skill.Source}
	if skill.Active {
		state = append(state, "active")
	}
	if !skill.Enabled {
		state = append(state, "disabled")
	}
	return state
}

// titled returns a list with a title, or a text for an empty list.
func titled(title string, b *strings.Builder, empty string) commands.Result {
	if b.Len() == 0 {
		return info("%s", empty)
	}
	return info("%s\n\n%s", title, b.String())
}

// listed returns a list, or a text for an empty list.
func listed(b *strings.Builder, empty string) commands.Result {
	if b.Len() == 0 {
		return info("%s", empty)
	}
	return info("%s", b.String())
}

// withoutArgs is the action of a command with sub-commands and without arguments.
func withoutArgs(do func(ctx context.Context) (commands.Result, error)) action {
	return func(ctx context.Context, c *commands.Context, args string) (commands.Result, error) {
		if args != "" {
			return nil, fault.New(fault.InvalidToolParams, "builtin", "/"+c.Invocation.Name+" has no sub-command "+code(args)+".", "/help "+c.Invocation.Name+" lists them.")
		}
		return do(ctx)
	}
}

// reload loads something again and reports the problems.
func reload(done string, load func(ctx context.Context) ([]string, error)) func(ctx context.Context) (commands.Result, error) {
	return func(ctx context.Context) (commands.Result, error) {
		problems, err := load(ctx)
		if err != nil {
			return nil, err
		}
		return withProblems(done, problems), nil
	}
}

func agentsCommand(s *Services) *commands.Command {
	list := func(context.Context) (commands.Result, error) {
		var b strings.Builder
		for _, a := range s.Agents.List() {
			where := a.Source
			if a.Remote {
				where += ", remote"
			}
			item(&b, a.Name, line(a.Description)+" ("+line(where)+")")
		}
		return titled("The agents:", &b, "There are no agents. A file agents/NAME.md in the settings directory makes one."), nil
	}
	return &commands.Command{
		Name: "agents", Description: "Lists or reloads the agents.", AutoExecute: true,
		Action: withoutArgs(list),
		SubCommands: []*commands.Command{
			plain("list", "Lists them.", list),
			plain("reload", "Reloads them.", reload("The agents were reloaded.", func(ctx context.Context) ([]string, error) { return s.Agents.Reload(ctx) }), "refresh"),
		},
	}
}

func hooksCommand(s *Services) *commands.Command {
	list := func(context.Context) (commands.Result, error) {
		var b strings.Builder
		for _, h := range s.Hooks.List() {
			about := line(h.Event)
			if h.Matcher != "" {
				about += " on " + code(h.Matcher)
			}
			about += ": " + code(h.Command) + " (" + line(h.Source)
			if !h.Enabled {
				about += ", disabled"
			}
			if !h.Trusted {
				about += ", not trusted"
			}
			item(&b, h.Name, about+")")
		}
		return titled("The hooks, in the order in which they run:", &b, "There are no hooks."), nil
	}
	return &commands.Command{
		Name: "hooks", Description: "Lists, enables or disables the hooks, or approves the project's.", AutoExecute: true,
		Action: withoutArgs(list),
		SubCommands: append([]*commands.Command{
			plain("list", "Lists them.", list, "show", "panel"),
			plain("trust", "Approves the project's hooks in their current state.", func(ctx context.Context) (commands.Result, error) {
				note, err := s.Hooks.Trust(ctx)
				if err != nil {
					return nil, err
				}
				return info("%s", line(note)), nil
			}),
		}, switches("hook", func(on bool) (found []commands.Candidate) {
			for _, h := range s.Hooks.List() {
				if h.Enabled != on {
					found = append(found, commands.Candidate{Value: h.Name, Description: h.Event})
				}
			}
			return found
		}, func(ctx context.Context, name string, on bool) error { return s.Hooks.SetEnabled(ctx, name, on) })...),
	}
}

func extensionsCommand(s *Services) *commands.Command {
	list := func(context.Context) (commands.Result, error) {
		var b strings.Builder
		for _, e := range s.Extensions.List() {
			about := line(e.Version)
			if !e.Active {
				about += ", disabled"
			}
			if e.Problem != "" {
				about += ": " + line(e.Problem)
			}
			item(&b, e.Name, strings.TrimPrefix(about, ", ")+" ("+code(e.Path)+")")
		}
		return titled("The extensions:", &b, "No extensions are installed. "+s.Product+" extensions install SOURCE installs one."), nil
	}
	return &commands.Command{
		Name: "extensions", Description: "Lists, enables, disables or reloads the extensions.", AutoExecute: true,
		Action: withoutArgs(list),
		SubCommands: append([]*commands.Command{
			plain("list", "Lists them.", list),
			plain("reload", "Reloads them.", reload("The extensions were reloaded.", func(ctx context.Context) ([]string, error) { return s.Extensions.Reload(ctx) }), "restart"),
		}, switches("extension", func(on bool) (found []commands.Candidate) {
			for _, e := range s.Extensions.List() {
				if e.Active != on {
					found = append(found, commands.Candidate{Value: e.Name, Description: e.Version})
				}
			}
			return found
		}, func(ctx context.Context, name string, on bool) error { return s.Extensions.SetEnabled(ctx, name, on) })...),
	}
}

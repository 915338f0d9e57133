package slash

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/config/internal/prompts"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools"
)

// promptCommands loads a command for each prompt of the connected MCP servers,
// under its name and under SERVER.NAME; only the latter if an earlier server has
// a prompt of the same name.
type promptCommands struct{ servers *mcp.Manager }

func (l promptCommands) Name() string { return "prompts of MCP servers" }

func (l promptCommands) Load(context.Context) (all []*commands.Command, _ []fault.Problem, _ error) {
	if l.servers == nil {
		return nil, nil, nil
	}
	by := l.servers.Prompts()
	taken := map[string]bool{}
	for _, server := range slices.Sorted(maps.Keys(by)) {
		for _, p := range by[server] {
			name, full := prompts.CommandName(p), server+"."+prompts.CommandName(p)
			c := l.command(server, p)
			if c.Name = full; !taken[name] {
				c.Name, c.AltNames, taken[name] = name, []string{full}, true
			}
			all = append(all, c)
		}
	}
	return all, nil, nil
}

func (l promptCommands) command(server string, p mcp.Prompt) *commands.Command {
	return &commands.Command{
		Description: escape.Plain(cmp.Or(p.Description, "A prompt of the MCP server "+server+"."), maxDescription),
		Kind:        commands.KindMCPPrompt, Source: server, AutoExecute: len(p.Arguments) == 0,
		Action: func(ctx context.Context, _ *commands.Context, args string) (commands.Result, error) {
			content, err := prompts.Fill(ctx, l.servers, server, p, args)
			if err != nil {
				return nil, err
			}
			return commands.SubmitPrompt{Content: content, Expanded: true}, nil
		},
		Completion: func(_ context.Context, _ *commands.Context, partial string) (found []commands.Candidate, _ error) {
			before, last := "", partial
			if at := strings.LastIndexByte(partial, ' '); at >= 0 {
				before, last = partial[:at+1], partial[at+1:]
			}
			for _, a := range p.Arguments {
				if name := "--" + a.Name + "="; strings.HasPrefix(name, last) && !strings.Contains(before, name) {
					found = append(found, commands.Candidate{Value: before + name, Description: escape.Plain(a.Description, maxDescription)})
				}
			}
			return found, nil
		},
		SubCommands: []*commands.Command{{
			Name: "help", Description: "Lists its arguments.", Kind: commands.KindMCPPrompt, AutoExecute: true, NoArgs: true,
			Action: func(context.Context, *commands.Context, string) (commands.Result, error) {
				return commands.Message{Text: promptHelp(server, p)}, nil
			},
		}},
	}
}

// promptHelp returns a description of a prompt's arguments in Markdown.
func promptHelp(server string, p mcp.Prompt) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**/%s** is a prompt of the MCP server %s.", prompts.CommandName(p), server)
	if p.Description != "" {
		b.WriteString(" " + escape.Plain(p.Description, maxDescription))
	}
	if len(p.Arguments) == 0 {
		b.WriteString(" It has no arguments.")
		return b.String()
	}
	b.WriteString("\n\n")
	for _, a := range p.Arguments {
		need := "optional"
		if a.Required {
			need = "required"
		}
		fmt.Fprintf(&b, "- `--%s=…` (%s) %s\n", a.Name, need, escape.Plain(a.Description, maxDescription))
	}
	return strings.TrimSpace(b.String())
}

// skillCommands loads a command for each skill that can be activated. It
// activates the skill, unless policy denies that, and sends the following text to
// the model.
type skillCommands struct {
	skills   *skills.SkillManager
	activate func(ctx context.Context, name string) (skills.Skill, error)
	lines    *Lines
}

func (l skillCommands) Name() string { return "skills" }

func (l skillCommands) Load(context.Context) (all []*commands.Command, _ []fault.Problem, _ error) {
	if l.skills == nil {
		return nil, nil, nil
	}
	for _, skill := range l.skills.Enabled() {
		all = append(all, &commands.Command{
			Name: strings.Join(strings.Fields(skill.Name), "-"), Description: escape.Plain(skill.Description, maxDescription), Kind: commands.KindSkill,
			ExtensionName: skill.Extension, Source: skill.Path, AutoExecute: true,
			Action: func(ctx context.Context, _ *commands.Context, args string) (commands.Result, error) {
				return l.run(ctx, skill, args)
			},
		})
	}
	return all, nil, nil
}

func (l skillCommands) run(ctx context.Context, skill skills.Skill, args string) (commands.Result, error) {
	params, err := json.Marshal(skills.ActivateSkillParams{Name: skill.Name})
	if err != nil {
		return nil, err
	}
	d, err := l.lines.scheduler.Explain(ctx, scheduler.Request{Tool: skills.ActivateSkill, Args: params}, scheduler.Situation{})
	if err != nil {
		return nil, err
	}
	if d.Decision == policy.Deny {
		return nil, fault.New(fault.PolicyViolation, "config.skills", "The skill "+skill.Name+" may not be activated. "+reasonOf(d), d.Remedy)
	}
	if _, err := l.activate(ctx, skill.Name); err != nil {
		return nil, err
	}
	if args == "" {
		args = "Work with the skill " + skill.Name + " now."
	}
	return commands.SubmitPrompt{Content: tools.Text(args)}, nil
}

// agentCommands loads a command for each subagent that the session may call: the
// following text is its task.
type agentCommands struct{ registry *tools.Registry }

func (l agentCommands) Name() string { return "agents" }

func (l agentCommands) Load(context.Context) (all []*commands.Command, _ []fault.Problem, _ error) {
	for _, t := range l.registry.All() {
		agent, ok := t.(subagent.AgentTool)
		if !ok {
			continue
		}
		d := agent.Agent()
		all = append(all, &commands.Command{
			Name: d.Name, Description: escape.Plain(d.Description, maxDescription), Kind: commands.KindAgent,
			ExtensionName: d.Source.Extension, Source: d.Source.Path,
			Action: func(_ context.Context, _ *commands.Context, args string) (commands.Result, error) {
				if args == "" {
					return nil, fault.New(fault.InvalidToolParams, "config.agents", "The task of the agent "+d.Name+" is missing.", "Say /"+d.Name+" and its task.")
				}
				return commands.SubmitPrompt{Content: tools.Text("@" + d.Name + " " + args)}, nil
			},
		})
	}
	return all, nil, nil
}

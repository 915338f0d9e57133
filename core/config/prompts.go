package config

import (
	"context"

	"github.com/fettle-dev/fettle/core/agent/prompt"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/prompts"
	"github.com/fettle-dev/fettle/core/mention"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools"
)

// SystemPrompt returns the system prompt of the next request: how to work, the
// tools that there are, where it works, or in the place of these
// Conversation.SystemPrompt; then the instruction files that hold, with those that
// accesses have brought up (FT-15), unless Instructions.AsMessages. For a subagent
// it is what follows the agent's own prompt, which says how to work. The error is
// of code not_initialized or cancelled.
func (c *Config) SystemPrompt(ctx context.Context) (string, error) {
	s, err := c.own("SystemPrompt")
	if err != nil {
		return "", err
	}
	return c.systemPrompt(ctx, s, prompts.Declared(s.registry))
}

// systemPrompt is SystemPrompt for a model that is told of these tools.
func (c *Config) systemPrompt(ctx context.Context, s *session, names []string) (string, error) {
	sh, err := c.services("SystemPrompt")
	if err != nil {
		return "", err
	}
	start, err := s.tracker.Begin(ctx, func(ctx context.Context, known func(string) bool) ([]instructions.Document, error) {
		return c.contextFiles(sh).Start(ctx, known)
	})
	if err != nil {
		return "", err
	}
	p := c.params()
	mode := c.ApprovalMode()
	f := prompt.Facts{
		Product: p.Layout.Name,
		Tools:   names, Interactive: c.bus.Listening(bus.TypeToolConfirmationRequest), PlanMode: mode == policy.ModePlan,
		Confined: string(p.Commands.Confinement.Kind), Untrusted: p.Trust == trust.Untrusted, Rest: c.ofAgent,
		Catalog: s.catalog.Listing(), Skills: skills.Listing(sh.skills.Enabled()), ActiveSkills: s.skills.Texts(),
	}
	if p.Now != nil {
		f.Today = p.Now()
	}
	if !c.ofAgent {
		f.Custom = p.Conversation.SystemPrompt
	}
	if f.PlanMode {
		f.PlansDir = c.plansDir(sh.workspace.Target())
	}
	docs := start
	if !p.Instructions.AsMessages {
		docs = append(docs, s.tracker.Given()...)
	}
	written := prompts.System{Facts: f, Workspace: sh.workspace, Registry: s.registry, Servers: sh.servers.Load(), Documents: docs}
	return written.Write() + s.hooks.Notes(), nil
}

// Expand puts into a prompt what it names with @ (CM-13, CM-14): files are read
// by this session's own tools, under its policy, and count as read; a subagent that
// the session may call is asked for; @server:uri is a resource of an MCP server. The error is of code not_initialized or
// cancelled.
func (c *Config) Expand(ctx context.Context, text string) (mention.Expanded, error) {
	s, err := c.own("Expand")
	if err != nil {
		return mention.Expanded{}, err
	}
	ctx, ended := s.hold(ctx)
	expanded, err := s.prompts().Expander().Expand(ctx, text)
	ended(err == nil)
	return expanded, err
}

// ServerPrompt fills in the prompt of a connected MCP server that text names as a
// command: /NAME ARGUMENTS or, where several servers have one of that name,
// /SERVER.NAME ARGUMENTS; the plain name then means that of the first server by
// name. The arguments are those of [mcp.Prompt.ParseArguments]. ok is false, and
// nothing is done, for text that names none.
//
// content is what is to be said to the model in the place of text: all messages of
// the prompt, one after the other, those of the model's side marked as such. The
// error is a *fault.Error: of code not_initialized, of arguments that do not fit,
// or what the server says.
func (c *Config) ServerPrompt(ctx context.Context, text string) (content tools.Content, ok bool, err error) {
	sh, err := c.services("ServerPrompt")
	if err != nil {
		return tools.Content{}, false, err
	}
	return prompts.OfServer(ctx, sh.servers.Load(), text)
}

// hold returns a context in which what files show counts as shown once the function
// that it returns is called with true: they are in what is said.
func (s *session) hold(ctx context.Context) (context.Context, func(said bool)) {
	ctx, r := s.state.Begin(ctx)
	return ctx, func(said bool) {
		if said {
			r.Commit()
		} else {
			r.Drop()
		}
	}
}

// prompts are those of this conversation.
func (s *session) prompts() prompts.Session {
	return prompts.Session{Files: s.shared.promptFiles(), Tools: prompts.Tools{Scheduler: s.scheduler}, Registry: s.registry, Servers: s.shared.servers.Load()}
}

func (s *shared) promptFiles() prompts.Files {
	return prompts.Files{Workspace: s.workspace, Finder: s.finder.now.Load}
}

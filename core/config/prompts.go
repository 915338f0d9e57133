package config

import (
	"context"

	"github.com/fettle-dev/fettle/core/agent/prompt"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/contextfiles"
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

// Instructions say which files steer the model, and how. The zero value is the
// layout's own file and AGENTS.md, in the system prompt.
type Instructions struct {
	// Names are base names of such files. nil: the settings', else the layout's
	// context file and AGENTS.md; empty: there are none.
	Names   []string
	Imports instructions.Imports // what becomes of @path in them
	// Boundary are names that mark the directory in which the search upwards from a
	// workspace directory ends, as .git does. nil: the settings', else .git; empty:
	// each workspace directory is its own end. So is it where no directory above holds
	// one of them, up to the home directory and as far as directories and marks belong to
	// the owner of the workspace directory, so that nobody else's files steer.
	Boundary []string
	// AsMessages gives what accesses bring up in the user's messages, in the place
	// of the system prompt (FT-15).
	AsMessages bool
}

// contextFiles finds the instruction files of the session.
func (c *Config) contextFiles(sh *shared) contextfiles.Finder {
	p := c.params()
	userDir, _ := c.userDir() // "": there is none
	return contextfiles.Finder{
		Workspace: sh.workspace, ContextFile: p.Layout.ContextFile, Names: p.Instructions.Names, Imports: p.Instructions.Imports, Boundary: p.Instructions.Boundary,
		UserDir: userDir, Home: p.home(), Untrusted: p.Trust == trust.Untrusted, Extensions: c.brought().Context,
		MayShow: func(path string) bool { return c.mayShow(sh, path) },
	}
}

// InstructionFiles returns the instruction files that this conversation has: those
// of its beginning, then those that accesses have brought up. The error is of code
// not_initialized or cancelled.
func (c *Config) InstructionFiles(ctx context.Context) ([]instructions.Document, error) {
	s, err := c.own("InstructionFiles")
	if err != nil {
		return nil, err
	}
	sh, err := c.services("InstructionFiles")
	if err != nil {
		return nil, err
	}
	start, err := s.tracker.Begin(ctx, func(ctx context.Context, known func(string) bool) ([]instructions.Document, error) {
		return c.contextFiles(sh).Start(ctx, known)
	})
	if err != nil {
		return nil, err
	}
	return append(start, s.tracker.Given()...), nil
}

// ReloadInstructions has the instruction files read again: those of the beginning
// with the next request, others when something beside them is accessed. What the
// conversation was shown of other files is not touched. The error is of code
// not_initialized.
func (c *Config) ReloadInstructions() error {
	s, err := c.own("ReloadInstructions")
	if err != nil {
		return err
	}
	s.tracker.ForgetInstructions()
	s.history.TellAgain()
	return nil
}

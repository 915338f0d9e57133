package config

import (
	"context"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/contextfiles"
	"github.com/fettle-dev/fettle/core/config/internal/prompts"
	"github.com/fettle-dev/fettle/core/internal/prompt"
	"github.com/fettle-dev/fettle/core/mention"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools"
)

// SystemPrompt returns the system prompt of the next request: the working
// instructions, the available tools and the environment, or
// Conversation.SystemPrompt instead of these; then the applicable instruction
// files, including those found by file accesses, unless Instructions.AsMessages
// is set. For a subagent it is the part after the agent's own prompt. The error
// has code not_initialized or cancelled.
func (c *Config) SystemPrompt(ctx context.Context) (string, error) {
	s, err := c.own("SystemPrompt")
	if err != nil {
		return "", err
	}
	return c.systemPrompt(ctx, s, prompts.Declared(s.registry))
}

// systemPrompt implements SystemPrompt for a model with the given tools.
func (c *Config) systemPrompt(ctx context.Context, s *session, names []string) (string, error) {
	sh, err := c.services("SystemPrompt")
	if err != nil {
		return "", err
	}
	start, err := s.tracker.LoadAtStart(ctx, func(ctx context.Context, known func(string) bool) ([]instructions.Document, error) {
		return c.contextFiles(sh).Start(ctx, known)
	})
	if err != nil {
		return "", err
	}
	p := c.params()
	mode := c.ApprovalMode()
	f := prompt.Facts{
		Product: p.Environment.Layout.Name,
		Tools:   names, Interactive: c.bus.Listening(bus.ToolConfirmationRequest{}), PlanMode: mode == policy.ModePlan,
		Untrusted: p.Policy.Trust == trust.Untrusted, Rest: c.ofAgent,
		Catalog: s.catalog.Listing(), Skills: skills.Listing(sh.skills.Enabled()), ActiveSkills: s.skills.Texts(),
	}
	switch o := p.Tools.Shell; {
	case sh.overlay():
		f.Confined, f.Fork = policy.Namespaces, true
	case o.confines():
		f.Confined = string(o.Confinement.Kind)
	case mode != policy.ModeYolo || !o.byDefault:
		f.Confinable = string(o.confinement().Kind)
	}
	if p.Environment.Now != nil {
		f.Today = p.Environment.Now()
	}
	if !c.ofAgent {
		f.Custom = p.Conversation.SystemPrompt
	}
	if f.PlanMode {
		f.PlansDir = c.plansDir(sh.workspace.Target())
	}
	docs := start
	if !p.Instructions.AsMessages {
		docs = append(docs, s.tracker.LoadedByAccess()...)
	}
	written := prompts.System{Facts: f, Workspace: sh.workspace, Registry: s.registry, Servers: sh.servers.Load(), Documents: docs}
	return written.Write() + s.hooks.Notes(), nil
}

// Expand replaces @ references in a prompt: files are read by this session's own
// tools, under its policy, and count as read; a subagent that the session may
// call is requested; @server:uri is a resource of an MCP server. The error has
// code not_initialized or cancelled.
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

// Prompt fills in the prompt of a connected MCP server that text names as a
// command: /NAME ARGUMENTS or, if several servers have a prompt of that name,
// /SERVER.NAME ARGUMENTS; the plain name then denotes that of the first server by
// name. The arguments are parsed by [mcp.Prompt.ParseArguments]. For text that
// names no prompt, ok is false and nothing is done.
//
// content replaces text in the message to the model: it contains all messages of
// the prompt in order, with those of the model's role marked. The error is a
// *fault.Error: of code not_initialized, for invalid arguments, or the server's
// error.
func (x MCPServices) Prompt(ctx context.Context, text string) (content tools.Content, ok bool, err error) {
	c := x.c

	sh, err := c.services("MCP.Prompt")
	if err != nil {
		return tools.Content{}, false, err
	}
	return prompts.OfServer(ctx, sh.servers.Load(), text)
}

// hold returns a context that collects the files shown to the model. They count
// as shown once the returned function is called with true, that is when the
// message was sent.
func (s *session) hold(ctx context.Context) (context.Context, func(sent bool)) {
	ctx, r := s.state.Begin(ctx)
	return ctx, func(sent bool) {
		if sent {
			r.Commit()
		} else {
			r.Drop()
		}
	}
}

// prompts returns the prompts of this conversation.
func (s *session) prompts() prompts.Session {
	return prompts.Session{Files: s.shared.promptFiles(), Tools: prompts.Tools{Scheduler: s.scheduler}, Registry: s.registry, Servers: s.shared.servers.Load()}
}

func (s *shared) promptFiles() prompts.Files {
	return prompts.Files{Workspace: s.workspace, Finder: s.finder.Get}
}

// Instructions configures the files with instructions for the model. The zero
// value uses the layout's own file and AGENTS.md, in the system prompt.
type Instructions struct {
	// Names are base names of such files. nil: those of the settings, else the
	// layout's context file and AGENTS.md; empty: none.
	Names   []string
	Imports instructions.Imports // how @path imports in them are handled
	// Boundary lists names, such as .git, that mark the directory at which the
	// upward search from a workspace directory ends. nil: those of the settings,
	// else .git; empty: each workspace directory is its own boundary. The same
	// applies if no directory above contains a mark; the search goes no further
	// than the home directory, and only through directories and marks that the
	// owner of the workspace directory owns, so that no other user's files are
	// read.
	Boundary []string
	// AsMessages sends instructions found by file accesses in the user's messages
	// instead of the system prompt.
	AsMessages bool
}

// contextFiles returns the finder of the session's instruction files.
func (c *Config) contextFiles(sh *shared) contextfiles.Finder {
	p := c.params()
	userDir, _ := c.userDir() // "": there is none
	return contextfiles.Finder{
		Workspace: sh.workspace, ContextFile: p.Environment.Layout.ContextFile, Names: p.Instructions.Names, Imports: p.Instructions.Imports, Boundary: p.Instructions.Boundary,
		UserDir: userDir, Home: p.Environment.home(), Untrusted: p.Policy.Trust == trust.Untrusted, Extensions: c.brought().Context,
		MayShow: func(path string) bool { return c.mayShow(sh, path) },
	}
}

// Files returns the instruction files of this conversation: the
// initial ones, then those found by file accesses. The error has code
// not_initialized or cancelled.
func (x InstructionService) Files(ctx context.Context) ([]instructions.Document, error) {
	c := x.c

	s, err := c.own("Instructions.Files")
	if err != nil {
		return nil, err
	}
	sh, err := c.services("Instructions.Files")
	if err != nil {
		return nil, err
	}
	start, err := s.tracker.LoadAtStart(ctx, func(ctx context.Context, known func(string) bool) ([]instructions.Document, error) {
		return c.contextFiles(sh).Start(ctx, known)
	})
	if err != nil {
		return nil, err
	}
	return append(start, s.tracker.LoadedByAccess()...), nil
}

// Reload makes the instruction files be read again: the initial ones
// with the next request, others when a file in their directory is accessed. The
// record of other files shown to the model is unchanged. The error has code
// not_initialized.
func (x InstructionService) Reload() error {
	c := x.c

	s, err := c.own("Instructions.Reload")
	if err != nil {
		return err
	}
	s.tracker.ForgetInstructions()
	s.history.AnnounceAgain()
	return nil
}

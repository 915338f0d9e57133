package config

import (
	"context"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/sessionhooks"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// Hooks configures the hooks of a session. The zero value runs those of files,
// settings and extensions.
type Hooks struct {
	disabled bool // by the settings
	// Functions are the embedder's own, with Run set. They run before all others.
	Functions []hooks.Hook
	// TrustAll trusts the directory for this run only: the hooks of its project
	// run as they are, and no approval of them is recorded. In an untrusted
	// directory they do not run in any case.
	TrustAll bool

	sources sessionhooks.Sources // from the settings
}

// fillHooks applies the settings.
func (p *Parameters) fillHooks(s settings.Settings, r *settings.Result) {
	h := &p.Hooks
	h.disabled = h.disabled || !s.HooksConfig.Enabled
	h.sources = sessionhooks.Sources{Off: s.HooksConfig.Disabled, Silent: !s.HooksConfig.Notifications, Layers: r.HookLayers()}
}

// openHooks creates the hook runner without any hooks.
func (c *Config) openHooks(sh *shared) {
	p, target := c.params(), sh.workspace.Target()
	sources := p.Hooks.sources
	sources.Disabled, sources.Functions = p.Hooks.disabled, p.Hooks.Functions
	o := sessionhooks.Options{
		Bus: c.bus, Workspace: sh.workspace, Layout: &p.Environment.Layout, Sources: &sources,
		Trusted: p.Policy.Trust == trust.Trusted, Inherited: p.Policy.TrustInherited, TrustAll: p.Hooks.TrustAll,
		Confined: p.Tools.Shell.confines() || sh.fork != nil, Sandbox: sh.fork != nil,
		Process: func() process.Options { return c.programOptions(sh) }, Open: sh.processes.open, End: sh.processes.close,
		PlansDir: func() string { return c.plansDir(target) },
		Servers:  func() []mcp.Configured { return c.mcpServers(target) }, ServerNames: func() []string { return c.servers().Names() },
		Mask: c.masker, Logger: p.Environment.Logger, Now: p.Environment.Now, OnDefect: c.onDefect,
	}
	if dir, err := c.userDir(); err == nil {
		o.UserDir = dir
	}
	sh.hooks = sessionhooks.New(o)
}

// loadHooks reads the hooks: at Initialize, and again when extensions have
// changed.
func (c *Config) loadHooks(sh *shared) { sh.hooks.Load(c.brought().Hooks) }

// hooksOf returns the hook runner of this Config's own conversation.
func (c *Config) hooksOf(sh *shared, s *session) *sessionhooks.Conversation {
	p := c.params()
	return sh.hooks.Conversation(sessionhooks.ConversationOptions{
		Bus: c.bus, Subagent: c.subagent, Prompts: !c.ofAgent, ID: c.SessionID, Tools: s.registry,
		Later:      p.Tools.external() || len(p.Tools.Discover) > 0,
		Run:        func(ctx context.Context, r scheduler.Request) scheduler.Response { return s.scheduler.Run(ctx, r) },
		Overriding: s.history.Overriding,
	})
}

// List returns the hooks in the order in which they run. They must not be
// modified. The error has code not_initialized.
func (x HookService) List(ctx context.Context) ([]hookresult.Listing, error) {
	c := x.c

	s, err := c.own("Hooks.List")
	if err != nil {
		return nil, err
	}
	return s.hooks.List(ctx), nil
}

// Problems returns the problems in definitions of hooks, including hooks that
// never run because their matchers match no known tool. The error has code
// not_initialized.
func (x HookService) Problems() ([]fault.Problem, error) {
	c := x.c

	s, err := c.own("Hooks.Problems")
	if err != nil {
		return nil, err
	}
	return s.hooks.Problems(), nil
}

// Approve records the current hooks of the project as approved by the user,
// and returns their names. They run if the directory is trusted. If there are
// none, that is recorded, and hooks added later require approval. Errors have
// code not_initialized, invalid_config, file_write_failure or cancelled.
func (x HookService) Approve(ctx context.Context) ([]string, error) {
	c := x.c

	sh, err := c.services("Hooks.Approve")
	if err != nil {
		return nil, err
	}
	return sh.hooks.Approve(ctx)
}

// Try runs the hooks of an event as a session would, with the input in, and
// returns their combined effect. The effect is not applied, and no approval is
// recorded. Empty session fields of in are set to those of this session.
func (x HookService) Try(ctx context.Context, in hooks.Input) (hookresult.Effect, error) {
	c := x.c

	s, err := c.own("Hooks.Try")
	if err != nil {
		return hookresult.Effect{}, err
	}
	return s.hooks.Try(ctx, in), nil
}

// SessionHooks is the combined output of the hooks of a session's start.
type SessionHooks struct {
	// Context is for the model, in its tags: an interactive session adds it to
	// the history or to the next prompt, a session of a single prompt prepends
	// it. "": none.
	Context string
	// Messages are for the user. They are not on the bus.
	Messages []bus.HookMessage
}

// SessionStarted runs the hooks of a session's start. source is the cause:
// startup, resume or clear. Their messages are in the system prompt from then on.
// They cannot prevent the start. The error has code not_initialized.
func (x HookService) SessionStarted(ctx context.Context, source string) (SessionHooks, error) {
	c := x.c

	s, err := c.own("Hooks.SessionStarted")
	if err != nil {
		return SessionHooks{}, err
	}
	added, messages := s.hooks.Started(ctx, source)
	return SessionHooks{Context: added, Messages: messages}, nil
}

// SessionEnding runs the hooks of a session's end. reason is the cause: exit,
// clear, logout, prompt_input_exit or other. They cannot prevent the end. The
// error has code not_initialized.
func (x HookService) SessionEnding(ctx context.Context, reason string) error {
	c := x.c

	s, err := c.own("Hooks.SessionEnding")
	if err != nil {
		return err
	}
	s.hooks.Ending(ctx, reason)
	return nil
}

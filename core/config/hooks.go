package config

import (
	"context"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/sessionhooks"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// Hooks say what runs at the events of a session (EX-06). The zero value is the
// hooks of files, settings and extensions.
type Hooks struct {
	Disabled bool // none runs; the settings may say so too
	// Functions are the embedder's own. They run before all others, and have their
	// Run set.
	Functions []hooks.Hook
	// TrustAll says that the directory is trusted for this run alone: the hooks of its
	// project run as they are, and nothing is recorded of them. In a directory that is
	// not trusted they do not run in any case.
	TrustAll bool

	sources sessionhooks.Sources // of settings
}

// fillHooks takes over what settings say of hooks.
func (p *Parameters) fillHooks(s settings.Settings, r *settings.Result) {
	h := &p.Hooks
	h.Disabled = h.Disabled || !s.HooksConfig.Enabled
	h.sources = sessionhooks.Sources{Off: s.HooksConfig.Disabled, Silent: !s.HooksConfig.Notifications, Layers: r.HookLayers()}
}

// openHooks makes what runs hooks, without any.
func (c *Config) openHooks(sh *shared) {
	p, target := c.params(), sh.workspace.Target()
	sources := p.Hooks.sources
	sources.Disabled, sources.Functions = p.Hooks.Disabled, p.Hooks.Functions
	o := sessionhooks.Options{
		Bus: c.bus, Workspace: sh.workspace, Layout: &p.Layout, Sources: &sources,
		Trusted: p.Trust == trust.Trusted, Inherited: p.TrustInherited, TrustAll: p.Hooks.TrustAll,
		Confined: p.Commands.Confinement.Kind != process.Unconfined,
		Process:  func() process.Options { return p.processOptions(sh) }, Open: sh.processes.open,
		PlansDir: func() string { return c.plansDir(target) },
		Servers:  func() []mcp.Configured { return c.mcpServers(target) }, ServerNames: func() []string { return c.servers().Names() },
		Mask: c.masker, Logger: p.Logger, Now: p.Now, OnDefect: c.onDefect,
	}
	if dir, err := c.userDir(); err == nil {
		o.UserDir = dir
	}
	sh.hooks = sessionhooks.New(o)
}

// loadHooks reads the hooks: at Initialize, and again when extensions have changed.
func (c *Config) loadHooks(sh *shared) { sh.hooks.Load(c.brought().Hooks) }

// hooksOf returns what runs the hooks of this Config's own conversation.
func (c *Config) hooksOf(sh *shared, s *session) *sessionhooks.Conversation {
	p := c.params()
	return sh.hooks.Conversation(sessionhooks.ConversationOptions{
		Bus: c.bus, Subagent: c.subagent, Prompts: !c.ofAgent, ID: c.SessionID, Tools: s.registry,
		Later:      p.ToolCommands != (ToolCommands{}) || len(p.Discover) > 0,
		Run:        func(ctx context.Context, r scheduler.Request) scheduler.Response { return s.scheduler.Run(ctx, r) },
		Overriding: s.history.Overriding,
	})
}

// HookState says whether a hook runs.
type HookState string

// The states.
const (
	HookActive    HookState = "active"
	HookUnmatched HookState = "unmatched" // its matcher matches nothing that there is, so that it never runs
	HookDisabled  HookState = "disabled"  // by hooksConfig.disabled
	HookUntrusted HookState = "untrusted" // the project's directory is not trusted, or commands are confined
	HookChanged   HookState = "changed"   // it is new or changed since the project's hooks were approved
)

// HookListing is a hook with what becomes of it.
type HookListing struct {
	*hooks.Hook
	Shown string // its command, without secrets that settings have put into it
	State HookState
	Note  string // why it does not run; "": it does, or State says it
	// Vouched is what an approval of a project's hook covers. nil: the hook is none,
	// or nobody can vouch for it.
	Vouched *hooks.Fingerprint
}

// Hooks lists the hooks in the order in which they run. They must not be changed.
// The error is of code not_initialized.
func (c *Config) Hooks(ctx context.Context) ([]HookListing, error) {
	s, err := c.own("Hooks")
	if err != nil {
		return nil, err
	}
	var all []HookListing
	for _, l := range s.hooks.List(ctx) {
		all = append(all, HookListing{l.Hook, l.Shown, HookState(l.State), l.Note, l.Vouched})
	}
	return all, nil
}

// HookProblems returns what is wrong with definitions of hooks, and which never run as
// their matchers match no tool that is known now. The error is of
// code not_initialized.
func (c *Config) HookProblems() ([]fault.Problem, error) {
	s, err := c.own("HookProblems")
	if err != nil {
		return nil, err
	}
	return s.hooks.Problems(), nil
}

// ApproveHooks records the hooks of the project, as they are now, as ones that the
// person has approved of, and returns their names. They run where the directory is
// trusted. Where there are none, that is recorded: those that come later are to be
// approved. Errors are of code not_initialized, invalid_config, file_write_failure
// or cancelled.
func (c *Config) ApproveHooks(ctx context.Context) ([]string, error) {
	sh, err := c.services("ApproveHooks")
	if err != nil {
		return nil, err
	}
	return sh.hooks.Approve(ctx)
}

// TryHooks runs the hooks of an event as a session would, with what in says of it,
// and returns what they want together; nothing follows from it, and nothing is recorded
// of hooks that nobody has approved of before. What is empty of a
// session in in is this one's.
func (c *Config) TryHooks(ctx context.Context, in hooks.Input) (hooks.Effect, error) {
	s, err := c.own("TryHooks")
	if err != nil {
		return hooks.Effect{}, err
	}
	return s.hooks.Try(ctx, in), nil
}

// SessionHooks are what the hooks of a session's start want.
type SessionHooks struct {
	// Context is for the model, in its tags: a person's session adds it to the
	// history or to the next prompt, one of a single prompt puts it before that. "":
	// nothing.
	Context string
	// Messages are for the person. They are not on the bus.
	Messages []bus.HookMessage
}

// SessionStarted runs the hooks of a session's start, of which source says how it
// came about: startup, resume or clear. Their messages are in the system prompt
// from then on. They can keep nothing from going on; the error is of code
// not_initialized.
func (c *Config) SessionStarted(ctx context.Context, source string) (SessionHooks, error) {
	s, err := c.own("SessionStarted")
	if err != nil {
		return SessionHooks{}, err
	}
	added, said := s.hooks.Started(ctx, source)
	return SessionHooks{Context: added, Messages: said}, nil
}

// SessionEnding runs the hooks of a session's end, of which reason says why: exit,
// clear, logout, prompt_input_exit or other. They can keep nothing from going on;
// the error is of code not_initialized.
func (c *Config) SessionEnding(ctx context.Context, reason string) error {
	s, err := c.own("SessionEnding")
	if err != nil {
		return err
	}
	s.hooks.Ending(ctx, reason)
	return nil
}

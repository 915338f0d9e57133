package config

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/recordings"
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/agentset"
	"github.com/fettle-dev/fettle/core/config/internal/forking"
	"github.com/fettle-dev/fettle/core/config/internal/prompts"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// Agents configures the subagents of a session. The zero value provides those
// defined in files and fettle's own, one level deep. Without Parameters.Conversation.Models
// there are no local agents.
type Agents struct {
	Disabled bool // no subagents
	// Definitions are the embedder's own. They take precedence over those in
	// files.
	Definitions []subagent.Definition
	// Dirs are additional directories of definitions, for example those of
	// extensions.
	Dirs []subagent.Dir
	// Remote creates the service that calls agents at other servers, as
	// core/standard does, from this Config's bus and the variables of its
	// environment. The Config closes the service. nil: no remote agents.
	Remote func(b *bus.MessageBus, v Variables) subagent.RemoteAgents
	Depth  int // how many levels of agents may call each other; 0: 1, so that an agent cannot call another
	// CheckModel validates the model name of a definition, with the variables
	// that contain keys. An agent whose model cannot be used runs on its
	// caller's model. nil: names are not validated.
	CheckModel func(name string, v Variables) error
}

// loadAgents creates the service for remote agents, and reads the definitions.
func (c *Config) loadAgents(ctx context.Context, sh *shared, s *session) error {
	p := c.params()
	if p.Agents.Remote != nil && !p.Agents.Disabled {
		sh.agents.Remote = p.Agents.Remote(c.bus, p.variables)
	}
	return c.renewAgents(ctx, sh, s)
}

// renewAgents reads the definitions again and replaces the registered tools.
func (c *Config) renewAgents(ctx context.Context, sh *shared, s *session) error {
	p := c.params()
	if !p.Agents.Disabled {
		userDir, _ := c.userDir() // "": there is none
		from := agentset.Sources{
			Definitions: p.Agents.Definitions, Dirs: slices.Concat(p.Agents.Dirs, c.brought().Agents), UserDir: userDir,
			Registry: s.registry, Local: p.Conversation.Models != nil, Rules: sh.rules.Change, Logger: p.Environment.Logger,
		}
		if check := p.Agents.CheckModel; check != nil {
			from.CheckModel = func(name string) error { return check(name, p.variables) }
		}
		if p.Policy.Trust == trust.Trusted {
			from.ProjectDir = filepath.Join(sh.workspace.Target(), p.Environment.Layout.Dir)
		}
		from.ClaudeUser, from.ClaudeProject = p.claudeDirs(sh.workspace.Target())
		if err := sh.agents.Load(ctx, from); err != nil {
			return err
		}
	}
	return c.registerAgents(sh, s, s.registry)
}

// registerAgents registers the agents that the conversation with the services s
// may call.
func (c *Config) registerAgents(sh *shared, s *session, r *tools.Registry) error {
	p := c.params()
	if c.agentDepth > 0 && c.agentDepth >= max(p.Agents.Depth, 1) {
		return nil
	}
	runner := subagent.NewRunner(subagent.Options{
		Host: agentHost{c}, Bus: c.bus, Depth: p.Agents.Depth, Now: p.Environment.Now, Logger: p.Environment.Logger,
	})
	all, err := sh.agents.Tools(runner, s.conversation)
	if err != nil {
		return err
	}
	others := toollist.Selection{Exclude: c.excluded()}
	for _, t := range all {
		if !others.Includes(t.Spec(), true) {
			continue
		}
		if err := r.Renew(t); err != nil {
			return err
		}
	}
	return nil
}

// agentHost derives the Configs of subagents.
type agentHost struct{ caller *Config }

// Begin derives a Config for one run of an agent.
func (h agentHost) Begin(ctx context.Context, d *subagent.Definition) (*subagent.Session, error) {
	child, err := h.caller.Derive(DeriveParameters{
		Subagent: d.Name, Model: d.Model, ApprovalMode: agentset.Mode(d, h.caller.ApprovalMode()), Fork: d.Fork,
	})
	if err != nil {
		return nil, err
	}
	child.ofAgent, child.agentDepth = true, h.caller.agentDepth+1
	outer := h.caller.agents
	child.agents = append(slices.Clip(outer), d)
	if err := child.enter(ctx); err != nil {
		return nil, closing(child, err)
	}
	s, err := child.own("agent")
	if err != nil {
		return nil, closing(child, err)
	}
	o, err := child.clientOptions(s)
	if err != nil {
		return nil, closing(child, err)
	}
	has := agentset.Tools(d, subagent.Within(outer, s.registry.All()))
	granted := agentset.GrantSearch(s.registry, has)
	s.catalog.Restrict(has)
	o.System = func(ctx context.Context) (string, error) {
		names := slices.DeleteFunc(prompts.Declared(s.registry), func(name string) bool { return !has[name] })
		return child.systemPrompt(ctx, s, names)
	}
	session := &subagent.Session{
		Registry: s.registry, Outer: outer, Granted: granted, SchedulerID: child.schedulerID(), Changed: s.history.Written, Close: child.Close,
	}
	if d.Fork {
		session.Settle = h.settle(child, d.Name)
	}
	var recorder agent.Recorder
	if store := h.caller.recordsAgents(); store != nil {
		recording, err := store.RecordSubagent(ctx, child, child.parent.SessionID())
		if err != nil {
			h.caller.params().Environment.Logger.Warn("a subagent is not recorded", slog.Any("error", err))
		} else {
			recorder = recording
			session.Close = func() error { return closing(child, recording.Close()) }
		}
	}
	child.record(s, &o, recorder)
	session.Agent = o
	return session, nil
}

// enter creates the fork of this Config, if it has one.
func (c *Config) enter(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.placed(ctx)
	return err
}

// settle returns a function that merges the fork of a subagent into the caller's files.
func (h agentHost) settle(child *Config, name string) func(ctx context.Context, done bool) (string, []string) {
	return func(ctx context.Context, done bool) (string, []string) {
		sh, err := h.caller.services("settle")
		if err != nil {
			return fault.Line(err), nil
		}
		f, err := child.Fork()
		if err != nil {
			return fault.Line(err), nil
		}
		into := forking.Into{
			Workspace: sh.workspace, Committer: sh.committer, RecoveryDir: filepath.Join(sh.data, recoveryDir), Finder: sh.finder.Get(), Agent: name,
			Allows: h.caller.mayMake, Shows: func(path string) bool { return h.caller.mayShow(sh, path) },
		}
		if sh.checkpoints != nil && sh.checkpoints.Keeps() {
			into.Record = sh.checkpoints.Record
		}
		sh.merging.Lock() // agents that run at the same time merge one after the other
		defer sh.merging.Unlock()
		return forking.Settle(ctx, f, into, done)
	}
}

// mayMake reports whether tools would make a change of a merge in this conversation without approval.
func (c *Config) mayMake(ctx context.Context, f fork.File) bool {
	s, err := c.own("mayMake")
	if err != nil || c.ApprovalMode() == policy.ModePlan {
		return false
	}
	for _, call := range f.Calls() {
		d, err := s.scheduler.Explain(ctx, scheduler.Request{Tool: call.Tool, Args: call.Args}, scheduler.Situation{})
		if err != nil || d.Decision != policy.Allow || len(d.Checkers) > 0 {
			return false
		}
	}
	return true
}

// closing closes a Config and joins err with the error of Close.
func closing(c *Config, err error) error {
	if closeErr := c.Close(); err == nil {
		return closeErr
	}
	return err
}

// recordsAgents returns where the runs of subagents are recorded, or nil if they
// are not.
func (c *Config) recordsAgents() *recordings.Store {
	for c.parent != nil {
		c = c.parent
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agentRecords
}

// List returns the definitions of the available subagents, in the order in
// which they were found. They must not be modified. The error has code
// not_initialized.
func (x AgentService) List() ([]*subagent.Definition, error) {
	c := x.c

	sh, err := c.services("Agents.List")
	if err != nil {
		return nil, err
	}
	defs := sh.agents.Definitions()
	all := make([]*subagent.Definition, len(defs))
	for i := range defs {
		all[i] = &defs[i]
	}
	return all, nil
}

// Problems returns the problems in definitions. The error has code
// not_initialized.
func (x AgentService) Problems() ([]fault.Problem, error) {
	c := x.c

	sh, err := c.services("Agents.Problems")
	if err != nil {
		return nil, err
	}
	return sh.agents.Problems(), nil
}

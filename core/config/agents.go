package config

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
)

// agentsFolder holds the definitions of agents, below the user's and the
// project's settings folder (CF-02).
const agentsFolder = "agents"

// Agents say which subagents a session has. The zero value is those of files and
// fettle's own, one level deep. Without Parameters.Models there are no local ones.
type Agents struct {
	Disabled bool // there are none
	// Definitions are the embedder's own; they go before those of files (EX-19).
	Definitions []subagent.Definition
	// Folders are more folders of definitions, as those of extensions.
	Folders []subagent.Folder
	// Remote makes what calls agents at other servers, as core/standard does, of
	// this Config's bus and the variables of its environment; the Config closes it.
	// nil: there are none.
	Remote func(b *bus.MessageBus, v Variables) RemoteAgents
	Depth  int // how deep agents may call agents; 0: 1, so that an agent has no other
	// CheckModel says what is wrong with the name of a model that a definition
	// gives; such an agent runs on its caller's. nil: names are not checked.
	CheckModel func(name string) error
}

// RemoteAgents make tools of remote agents; *a2a.Service has it.
type RemoteAgents interface {
	// Tool makes the tool of one Config. conversation names the conversation that a
	// call is part of; what was said to the agent in another is forgotten. nil: it
	// is always the same.
	Tool(d subagent.Definition, conversation func() string) (subagent.AgentTool, error)
	Close() error
}

// agents are the subagents of a Config and of those derived from it.
type agents struct {
	found  atomic.Pointer[foundAgents] // replaced as a whole
	remote RemoteAgents                // nil: there are none
}

// foundAgents are the definitions that were read together.
type foundAgents struct {
	defs     []subagent.Definition
	problems []fault.Problem
	rules    []policy.Rule // of the commands that they may run
}

// now returns the definitions that there are, never nil.
func (a *agents) now() *foundAgents {
	if found := a.found.Load(); found != nil {
		return found
	}
	return &foundAgents{}
}

func sameName(name string) func(subagent.Definition) bool {
	return func(d subagent.Definition) bool { return d.Name == name }
}

func (a *agents) close() error {
	if a.remote == nil {
		return nil
	}
	return a.remote.Close()
}

// loadAgents reads the definitions and registers their tools.
func (c *Config) loadAgents(ctx context.Context, sh *shared, s *session) error {
	p := c.params()
	if p.Agents.Remote != nil && !p.Agents.Disabled {
		sh.agents.remote = p.Agents.Remote(c.bus, p.variables)
	}
	if err := c.findAgents(ctx, sh, s); err != nil {
		return err
	}
	return c.registerAgents(sh, s, s.registry)
}

// findAgents reads the definitions, and has them in the place of those that were
// read before.
func (c *Config) findAgents(ctx context.Context, sh *shared, s *session) error {
	p := c.params()
	if p.Agents.Disabled {
		return nil
	}
	before := sh.agents.now().defs
	o := subagent.LoadOptions{
		BuiltIn: subagent.BuiltIn(),
		Folders: slices.Concat(p.Agents.Folders, c.brought().agents),
		Tools:   s.registry.All, CheckModel: p.Agents.CheckModel,
		Reserved: func(name string) bool {
			_, err := s.registry.Lookup(name)
			return err == nil && !slices.ContainsFunc(before, sameName(name))
		},
	}
	if len(p.Agents.Definitions) > 0 {
		o.BuiltIn = slices.Concat(p.Agents.Definitions, o.BuiltIn)
	}
	userDir, err := c.userDir()
	if err == nil {
		o.Folders = append(o.Folders, subagent.Folder{Path: filepath.Join(userDir, agentsFolder), Scope: subagent.ScopeUser})
	}
	if dir := filepath.Join(sh.workspace.Target(), p.Layout.Dir); p.Trust == trust.Trusted && !sameFolder(dir, userDir) {
		o.Folders = append(o.Folders, subagent.Folder{Path: filepath.Join(dir, agentsFolder), Scope: subagent.ScopeProject})
	}
	a := &foundAgents{}
	if a.defs, a.problems, err = subagent.Load(ctx, o); err != nil {
		return cancelled("Initialize", err)
	}
	a.defs = slices.Clone(slices.DeleteFunc(a.defs, func(d subagent.Definition) bool { return !c.makes(a, sh.agents.remote, d) })) // often none
	for _, problem := range a.problems {
		if !slices.Contains(sh.agents.now().problems, problem) {
			p.Logger.Warn("agents", slog.String("problem", problem.String()))
		}
	}
	for i := range a.defs {
		a.rules = append(a.rules, rulesOfAgent(&a.defs[i])...)
	}
	if err := sh.rules.Change(policy.Change{Remove: sh.agents.now().rules, Add: a.rules}); err != nil {
		return err
	}
	sh.agents.found.Store(a)
	return nil
}

// rulesOfAgent are the rules that hold an agent to the commands that its definition
// leaves it. Commands that are not understood leave it none.
func rulesOfAgent(d *subagent.Definition) []policy.Rule {
	var rules []policy.Rule
	at := policy.Rule{Name: "commands of the agent " + d.Name, Subagent: d.Name, Source: d.Source.Path, Line: d.Source.Line}
	if d.OnlyCommands != nil {
		rules = append(rules, onlyCommands(at, d.OnlyCommands))
	}
	if d.DeniedCommands != nil {
		at.Tools, at.Decision, at.Tier, at.Priority = []string{"run_shell_command"}, policy.Deny, policy.TierUser, 999
		at.CommandPrefix, at.Restricts = d.DeniedCommands, true
		if at.Validate() != nil {
			at.CommandPrefix = nil
		}
		rules = append(rules, at)
	}
	return rules
}

// modeOfAgent is the mode of a run: the definition's where it is stricter than the
// caller's, and "" for the caller's.
func modeOfAgent(d *subagent.Definition, caller policy.ApprovalMode) policy.ApprovalMode {
	strictest := []policy.ApprovalMode{policy.ModePlan, policy.ModeDefault, policy.ModeAutoEdit, policy.ModeYolo}
	mode := policy.ApprovalMode(d.Mode)
	if d.Mode == "" || slices.Index(strictest, mode) >= slices.Index(strictest, caller) {
		return ""
	}
	return mode
}

// makes reports whether there can be a tool of the definition.
func (c *Config) makes(a *foundAgents, remote RemoteAgents, d subagent.Definition) bool {
	switch {
	case !d.IsRemote():
		return c.params().Models != nil
	case remote == nil:
		return false
	}
	if _, err := remote.Tool(d, nil); err != nil {
		a.problems = append(a.problems, fault.Problem{Path: d.Source.Path, Line: d.Source.Line, Message: message(err), Severity: fault.SeverityError})
		return false
	}
	return true
}

// registerAgents registers the agents that this conversation, whose services are
// s, may call.
func (c *Config) registerAgents(sh *shared, s *session, r *tools.Registry) error {
	p := c.params()
	if c.agentDepth > 0 && c.agentDepth >= max(p.Agents.Depth, 1) {
		return nil
	}
	runner := subagent.NewRunner(subagent.Options{
		Host: agentHost{c}, Bus: c.bus, Depth: p.Agents.Depth, Now: p.Now, Logger: p.Logger,
	})
	var all []tools.DeclarativeTool
	for _, d := range sh.agents.now().defs {
		var t tools.DeclarativeTool
		var err error
		if d.IsRemote() {
			t, err = sh.agents.remote.Tool(d, s.conversation)
		} else {
			t, err = runner.Tool(d)
		}
		if err != nil {
			return err
		}
		all = append(all, t)
	}
	others := tools.Selection{Exclude: c.excluded()}
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

// agentHost derives sessions for agents.
type agentHost struct{ caller *Config }

// Begin derives a Config for one run of an agent.
func (h agentHost) Begin(ctx context.Context, d *subagent.Definition) (*subagent.Session, error) {
	child, err := h.caller.Derive(DeriveParameters{
		Subagent: d.Name, Model: d.Model, ApprovalMode: modeOfAgent(d, h.caller.ApprovalMode()),
	})
	if err != nil {
		return nil, err
	}
	child.ofAgent, child.agentDepth = true, h.caller.agentDepth+1
	outer := h.caller.agents
	child.agents = append(slices.Clip(outer), d)
	s, err := child.own("agent")
	if err != nil {
		return nil, closing(child, err)
	}
	o, err := child.clientOptions(s)
	if err != nil {
		return nil, closing(child, err)
	}
	has := toolsOf(d, subagent.Within(outer, s.registry.All()))
	granted := grantSearch(s.registry, has)
	s.catalog.Restrict(has)
	o.System = func(ctx context.Context) (string, error) {
		names := slices.DeleteFunc(declared(s.registry), func(name string) bool { return !has[name] })
		return child.systemPrompt(ctx, s, names)
	}
	session := &subagent.Session{
		Registry: s.registry, Outer: outer, Granted: granted, SchedulerID: child.schedulerID(), Changed: s.changed, Close: child.Close,
	}
	var recorder agent.Recorder
	if store := h.caller.recordsAgents(); store != nil {
		recording, err := store.Record(ctx, child)
		if err != nil {
			h.caller.params().Logger.Warn("a subagent is not recorded", slog.Any("error", err))
		} else {
			recorder = recording
			session.Close = func() error { return closing(child, recording.Close()) }
		}
	}
	child.record(s, &o, recorder)
	session.Agent = o
	return session, nil
}

// toolsOf are the names of the tools that a run of an agent has, as the run itself
// chooses them; complete_task aside, which the run brings and tells of.
func toolsOf(d *subagent.Definition, available []tools.DeclarativeTool) map[string]bool {
	chosen, _ := d.Select(available)
	has := map[string]bool{}
	for _, t := range slices.Concat(chosen, d.Values) {
		has[t.Spec().Name] = true
	}
	return has
}

// closing closes a Config and returns what went wrong before that.
func closing(c *Config, err error) error {
	if closeErr := c.Close(); err == nil {
		return closeErr
	}
	return err
}

// recordsAgents returns where the runs of subagents are recorded; nil: nowhere.
func (c *Config) recordsAgents() *Transcripts {
	for c.parent != nil {
		c = c.parent
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agentRecords
}

// Agents returns the definitions of the subagents that there are, in the order in
// which they were found. They must not be changed. The error is of code
// not_initialized.
func (c *Config) Agents() ([]*subagent.Definition, error) {
	sh, err := c.services("Agents")
	if err != nil {
		return nil, err
	}
	defs := sh.agents.now().defs
	all := make([]*subagent.Definition, len(defs))
	for i := range defs {
		all[i] = &defs[i]
	}
	return all, nil
}

// AgentProblems returns what is wrong with definitions. The error is of code
// not_initialized.
func (c *Config) AgentProblems() ([]fault.Problem, error) {
	sh, err := c.services("AgentProblems")
	if err != nil {
		return nil, err
	}
	return slices.Clone(sh.agents.now().problems), nil
}

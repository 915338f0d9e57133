package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/forking"
	"github.com/fettle-dev/fettle/core/config/internal/history"
	"github.com/fettle-dev/fettle/core/config/internal/sessionhooks"
	"github.com/fettle-dev/fettle/core/config/internal/skillset"
	"github.com/fettle-dev/fettle/core/config/internal/slash"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/internal/checker"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/tracker"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/catalog"
	"github.com/fettle-dev/fettle/core/tools/file"
	"github.com/fettle-dev/fettle/core/tools/plan"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// session holds the services and the state of one conversation.
type session struct {
	shared    *shared // shared with other conversations
	state     *filestate.Service
	processes lazyProcesses
	mutation  *mutation.Service
	tracker   *tracker.FileTracker
	files     *file.Services // of the tools that read and change files
	todos     plan.Todos
	registry  *tools.Registry
	catalog   *catalog.Catalog // decides which tools of registry are declared completely
	skills    *skillset.Active
	scheduler *scheduler.Scheduler

	linesOnce sync.Once
	lines     *slash.Lines // of the user's own commands; see commandLines

	client *agent.Client // created on first use, under Config.mu
	ended  atomic.Int64  // number of earlier conversations

	hooks   *sessionhooks.Conversation
	history *history.History

	dialects dialects
}

// conversation returns the ID of the current conversation for remote agents.
func (s *session) conversation() string { return strconv.FormatInt(s.ended.Load(), 10) }

// startOver resets the state that belongs to a discarded history.
func (s *session) startOver() {
	s.tracker.ClearSession()
	s.history.AnnounceAgain()
	s.catalog.Reset()
	s.skills.Clear()
	s.ended.Add(1)
}

// cleared resets the state for an emptied history, including the record of shown
// files. Versions continue, so that none is used twice.
func (s *session) cleared() {
	s.history.ForgetFiles()
	s.startOver()
}

// newSession creates the services of this Config's own conversation and binds the
// tools to them, so that no tool can reach another conversation's.
func (c *Config) newSession(sh *shared) (*session, error) {
	s := &session{shared: sh}
	read, mutate, _, _ := c.params().Calls.hooks()
	s.state = filestate.New(filestate.Options{
		Files:      sh.workspace,
		Limits:     c.limits(),
		Now:        c.params().Environment.Now,
		Logger:     c.params().Environment.Logger,
		KillSwitch: c.killSwitch.position,
		Instructions: func(base string) bool {
			return instructions.IsFile(base) || base == c.params().Environment.Layout.ContextFile
		},
		MayShow:     func(p workspace.Path) bool { return c.mayShow(sh, p.String()) },
		Bases:       &sh.bases,
		RequireSeen: c.params().Session.RequireSeen,
		NoSession:   c.params().Session.NoSession,
		Hook:        read,
	})
	s.mutation = mutation.New(mutation.Options{
		Files: sh.workspace, Committer: sh.committer, Sets: sh.transactions, State: s.state, Logger: c.params().Environment.Logger,
		Hook: mutate, Rebase: c.params().Session.StaleEdits == staleRebase,
	})
	given := tracker.Options{State: s.state}
	if c.params().Policy.Trust != trust.Untrusted { // an untrusted project's instruction files are not read
		given.Instructions = c.contextFiles(sh).Accessed()
	}
	if own := c.params().Session.Tracker; own != nil {
		s.tracker = own(given)
	}
	if s.tracker == nil {
		s.tracker = tracker.New(given)
	}
	s.history = history.New(history.Options{
		State: s.state, Tracker: s.tracker, Workspace: sh.workspace, Messages: c.params().Instructions.AsMessages,
		Watched: func() bool {
			p := c.params()
			return len(p.Calls.Before)+len(p.Calls.After) > 0 || s.hooks.Any(hooks.BeforeTool, hooks.AfterTool)
		},
		Limit: func() int { return c.tokenLimit(s) },
	})
	s.processes.all, s.processes.options = &sh.processes, c.params().processOptions(sh)
	s.files = c.fileServices(sh, s)
	s.catalog = c.newCatalog(s)
	var err error
	if s.registry, err = c.newRegistry(sh, s); err != nil {
		return nil, errors.Join(err, s.processes.close())
	}
	s.hooks = c.hooksOf(sh, s)
	o := scheduler.Options{
		Tools:    toolsOf{s.registry, s.files},
		Policy:   sh.rules,
		Bus:      c.bus,
		Mode:     c.ApprovalMode,
		Subagent: c.subagent,
		Subject: func(call *policy.Call) {
			c.situate(call, sh)
			confineInput(call, s.processes.List())
		},
		RealPath: sh.rules.RealPath,
		Check: checker.New(checker.Options{
			Dir: sh.workspace.Target(), Roots: sh.rules.Roots(), Programs: sh.rules.Programs, RealPath: sh.rules.RealPath, Logger: c.params().Environment.Logger,
		}).Check,
		Before: slices.Concat(forking.Before(sh.fork), c.params().Calls.Before, []scheduler.Before{s.hooks.BeforeTool}),
		After:  slices.Concat([]scheduler.After{c.afterServer(s, sh)}, c.params().Calls.After, []scheduler.After{s.hooks.AfterTool}),
		Record: func(ctx context.Context) (context.Context, scheduler.Recording) {
			ctx, r := s.state.Begin(ctx)
			return ctx, r
		},
		Asked:     s.hooks.Asked,
		Executing: executing(slices.Concat(c.params().Calls.Executing, forking.Executing(sh.fork), []scheduler.Executing{sh.keepsChanged(sh.checkpoints.Before(c.bus, c.subagent))})),
		Observe:   slices.Concat(c.params().Calls.Observe, []scheduler.Observe{s.observeForeign}),
		ID:        c.schedulerID(),
		Now:       c.params().Environment.Now,
		OnDefect:  c.onDefect,
	}
	s.scheduler = scheduler.New(o)
	return s, nil
}

// schedulerID returns the ID of this conversation's scheduler on the bus, which
// derived Configs share. It is called under c.mu if c has a parent.
func (c *Config) schedulerID() string {
	if c.parent == nil {
		return "" // the root
	}
	return c.sessionID
}

// newRegistry registers the selected built-ins, the embedder's tools, and the
// tools discovered by the parent.
func (c *Config) newRegistry(sh *shared, s *session) (*tools.Registry, error) {
	discover := c.params().Tools.Discover
	if c.params().Tools.external() {
		discover = append([]func(context.Context) ([]tools.DeclarativeTool, error){c.discoverTools(sh, s)}, discover...)
	}
	r := tools.NewRegistry(tools.RegistryOptions{Changed: func() { c.toolsChanged.Tell(mcp.Change{Tools: true}) }, Logger: c.params().Environment.Logger, Discover: discover, Absent: c.absent(sh), Hidden: func() []string {
		return slices.Concat(c.hidden(), s.dialects.hidden(), s.catalog.Hidden(), sh.hiddenResources())
	}})
	builtIn, err := c.bindBuiltIns(sh, s)
	if err != nil {
		return nil, err
	}
	own, err := c.bindOwnTools(sh, s)
	if err != nil {
		return nil, err
	}
	for _, t := range builtIn {
		if err := r.Register(t); err != nil {
			return nil, err
		}
	}
	if err := c.openSkills(sh, s, r); err != nil {
		return nil, err
	}
	for _, t := range own {
		if err := r.Register(t); err != nil {
			return nil, err
		}
	}
	if c.parent == nil {
		return r, nil
	}
	if err := c.registerAgents(sh, s, r); err != nil {
		return nil, err
	}
	return r, c.copyDiscovered(r)
}

// bindOwnTools returns the embedder's tools that are not excluded; those of Bind
// are bound to the services of the conversation.
func (c *Config) bindOwnTools(sh *shared, s *session) ([]tools.DeclarativeTool, error) {
	own := slices.Clone(c.params().Tools.Own)
	if c.params().Tools.Bind != nil {
		bound, err := c.params().Tools.Bind(c.lentTo(sh, s))
		if err != nil {
			return nil, cannotBind(err)
		}
		for _, t := range bound {
			// A derived Config inherits tools of another origin.
			if t != nil && t.Spec().Origin != (tools.Origin{}) {
				return nil, cannotBind(fmt.Errorf("%q has an origin, but only discovered tools may have one", t.Spec().Name))
			}
		}
		own = append(own, bound...)
	}
	others := toollist.Selection{Exclude: c.excluded()}
	return slices.DeleteFunc(own, func(t tools.DeclarativeTool) bool {
		return t != nil && !others.Includes(t.Spec(), true) // the registry refuses nil
	}), nil
}

func cannotBind(err error) error {
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.InvalidConfig, "config.bind", "Binding the embedder's tools failed: "+err.Error()+".",
		"Correct Parameters.Tools.Bind.", err)
}

// copyDiscovered registers the parent's discovered tools: they are shared values
// and are not discovered again.
func (c *Config) copyDiscovered(r *tools.Registry) error {
	parent, err := c.parent.ToolRegistry()
	if err != nil {
		return err
	}
	for _, t := range parent.All() {
		spec := t.Spec()
		if spec.Origin.Group == tools.GroupBuiltIn || !c.selection().Includes(spec, true) {
			continue
		}
		if err := r.Register(t); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) onDefect(err error) {
	if c.params().Environment.OnDefect != nil {
		c.params().Environment.OnDefect(err)
		return
	}
	c.params().Environment.Logger.Error("a tool has a defect", slog.Any("error", err))
}

// newCatalog creates the catalog that decides which of this conversation's tools
// are declared completely. Each Config has its own, so that a search in one does
// not affect another.
func (c *Config) newCatalog(s *session) *catalog.Catalog {
	return catalog.New(catalog.Options{
		Above: c.params().Tools.DeferSchemasAbove,
		Tools: func() []tools.DeclarativeTool {
			if s.registry == nil {
				return nil // the session is being created
			}
			return s.registry.All()
		},
	})
}

// observeForeign marks tools as declared that are called without a search.
func (s *session) observeForeign(ctx context.Context, _ scheduler.Request) (context.Context, func(scheduler.Response)) {
	return ctx, func(r scheduler.Response) {
		if t, err := s.registry.Lookup(r.Tool); err == nil && t.Spec().Origin.Group == tools.GroupBuiltIn {
			return
		}
		if r.Result.Error == nil || r.Result.Error.Code != fault.ToolNotRegistered {
			s.catalog.Called(r.Tool)
		}
	}
}

// StartNewSession begins a new conversation in this Config, for /clear or for
// resuming a saved history: it clears the cache, the tracker and the todos,
// starts new conversations with remote agents, defers the tools that were
// searched for, deactivates all skills, and restarts versions above
// highestVersion, which is 0 for an empty history. id "" means a random one; it
// returns the ID. Derived Configs are unchanged.
func (c *Config) StartNewSession(id string, highestVersion int64) (string, error) {
	s, err := c.own("StartNewSession")
	if err != nil {
		return "", err
	}
	if id == "" {
		id = bus.NewID()
	}
	s.state.StartSession(highestVersion)
	s.todos.Clear()
	s.startOver()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessionID = id
	return id, nil
}

// Compacted is called when compaction has replaced the history: it clears the
// cache of this Config, because the shown content is gone from the history.
// Versions continue, and sent instructions count as sent.
func (c *Config) Compacted() error {
	s, err := c.own("Compacted")
	if err != nil {
		return err
	}
	s.history.ForgetFiles()
	return nil
}

// absent returns the setting that removes a built-in tool which would be
// registered without it; see [tools.RegistryOptions].
func (c *Config) absent(sh *shared) func(name string) string {
	return func(name string) string {
		if !slices.Contains(defaultTools(c.params().Environment.Layout), name) {
			return ""
		}
		key, state := "", ""
		switch p := c.params(); {
		case !toollist.Selection{Exclude: c.excluded()}.Includes(tools.Spec{Name: name}, true):
			return "" // policy denies it, and names the entry
		case p.Tools.Core != nil:
			key, state = "tools.core", "does not list it"
		case name == "activate_skill" && p.Skills.Disabled:
			key, state = "skills.enabled", "is false"
		}
		if key == "" || sh.settings == nil {
			return ""
		}
		o := sh.settings.current().InForce(key)
		if o.Layer == settings.LayerDefault || o.Layer == "" {
			return "" // the embedder's own choice
		}
		return fmt.Sprintf("The setting %s (%s) %s.", key, toolrules.Place{Source: o.Source, Line: o.Line}, state)
	}
}

// executing joins functions that run right before a call, in their order. The
// functions that they return run in reverse order. An error of one ends the earlier
// ones and keeps the call from running.
func executing(all []scheduler.Executing) scheduler.Executing {
	if len(all) == 1 {
		return all[0]
	}
	return func(ctx context.Context, p scheduler.Proposal, inv tools.ToolInvocation) (func(context.Context, bool) []string, error) {
		var ends []func(context.Context, bool) []string
		ended := func(ctx context.Context, again bool) (notices []string) {
			for _, end := range slices.Backward(ends) {
				notices = append(notices, end(ctx, again)...)
			}
			return notices
		}
		for _, one := range all {
			end, err := one(ctx, p, inv)
			if err != nil {
				ended(ctx, false)
				return nil, err
			}
			if end != nil {
				ends = append(ends, end)
			}
		}
		return ended, nil
	}
}

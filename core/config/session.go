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
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/tracker"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/catalog"
	"github.com/fettle-dev/fettle/core/tools/plan"
)

// session is what one conversation owns.
type session struct {
	state     *filestate.Service
	processes *process.Service
	mutation  *mutation.Service
	tracker   *tracker.FileTracker
	todos     plan.Todos
	registry  *tools.Registry
	catalog   *catalog.Catalog // what of registry the model is told of whole
	skills    activeSkills
	scheduler *scheduler.Scheduler

	linesOnce sync.Once
	lines     *commandLines // of the person's own commands; see commandLines

	client *agent.Client // made when it is first asked for, under Config.mu
	ended  atomic.Int64  // how many conversations there were before this one
	told   int           // how many instruction files the user's messages have given

	hooks      sessionHooks
	compaction *compaction // the last one, until files are said again; nil: none

	writtenMu sync.Mutex
	written   []string // paths that were written, as far as the cache has forgotten them
}

// conversation names the one that is had now, for remote agents.
func (s *session) conversation() string { return strconv.FormatInt(s.ended.Load(), 10) }

// newSession makes the services of this Config's own conversation and binds
// the tools to them, so that no tool can reach another conversation's (RC-26).
func (c *Config) newSession(sh *shared) (*session, error) {
	s := &session{}
	s.hooks.of = sh
	s.state = filestate.New(filestate.Options{
		Files:  sh.workspace,
		Limits: c.limits(),
		Now:    c.params().Now,
		Logger: c.params().Logger,
		Hatch:  c.hatch.position,
		Instructions: func(base string) bool {
			return instructions.IsFile(base) || base == c.params().Layout.ContextFile
		},
		MayShow:     func(p workspace.Path) bool { return c.mayShow(sh, p.String()) },
		Bases:       &sh.bases,
		RequireSeen: c.params().RequireSeen,
		NoSession:   c.params().NoSession,
		Hook:        c.params().Seams.Read,
	})
	s.mutation = mutation.New(mutation.Options{
		Files: sh.workspace, Committer: sh.committer, State: s.state, Logger: c.params().Logger,
		Hook: c.params().Seams.Mutation,
	})
	given := tracker.Options{State: s.state}
	if c.params().Trust != trust.Untrusted { // FT-20
		given.Instructions = projectInstructions{sh.workspace, instructions.New(sh.workspace, c.instructionOptions(sh))}
	}
	s.tracker = tracker.New(given)
	s.processes = sh.processes.open(c.params().processOptions(sh))
	s.catalog = c.newCatalog(s)
	var err error
	if s.registry, err = c.newRegistry(sh, s); err != nil {
		return nil, errors.Join(err, sh.processes.close(s.processes))
	}
	o := scheduler.Options{
		Tools:    s.registry,
		Policy:   sh.rules,
		Bus:      c.bus,
		Mode:     c.ApprovalMode,
		Subagent: c.subagent,
		Subject:  func(call *policy.Call) { c.situate(call, sh) },
		RealPath: realPath,
		Check:    sh.rules.checks.Check,
		Before:   append(slices.Clip(c.params().Before), c.beforeTool(sh, s)),
		After:    slices.Concat([]scheduler.After{s.afterServer(sh)}, c.params().After, []scheduler.After{c.afterTool(sh, s)}),
		Record: func(ctx context.Context) (context.Context, scheduler.Recording) {
			ctx, r := s.state.Begin(ctx)
			return ctx, r
		},
		Asked:     c.notifyAsked(sh),
		Executing: c.keepBefore(sh),
		Observe:   slices.Concat(c.params().Observe, []scheduler.Observe{s.observeForeign}),
		ID:        c.schedulerID(),
		Now:       c.params().Now,
		OnDefect:  c.onDefect,
	}
	s.scheduler = scheduler.New(o)
	return s, nil
}

// schedulerID names this conversation's scheduler on the bus, which derived
// Configs share. It is called under c.mu where there is a parent.
func (c *Config) schedulerID() string {
	if c.parent == nil {
		return "" // the root
	}
	return c.sessionID
}

// newRegistry registers the selected built-ins, the embedder's tools, and
// what the parent has discovered.
func (c *Config) newRegistry(sh *shared, s *session) (*tools.Registry, error) {
	v := c.lentTo(sh, s)
	discover := c.params().Discover
	if c.params().ToolCommands != (ToolCommands{}) {
		discover = append([]func(context.Context) ([]tools.DeclarativeTool, error){c.discoverTools(v)}, discover...)
	}
	r := tools.NewRegistry(tools.RegistryOptions{Changed: c.toolsChanged.tell, Logger: c.params().Logger, Discover: discover, Absent: c.absent(sh), Hidden: func() []string {
		return slices.Concat(c.hidden(), s.catalog.Hidden(), sh.hiddenResources())
	}})
	builtIn, err := c.bindBuiltIns(sh, s)
	if err != nil {
		return nil, err
	}
	own, err := c.bindOwnTools(v)
	if err != nil {
		return nil, err
	}
	for _, t := range builtIn {
		if err := r.Register(t); err != nil {
			return nil, err
		}
	}
	if err := c.bindSkillTool(sh, s, r); err != nil {
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

// bindOwnTools returns the embedder's tools that are not excluded, those of
// Bind bound to v.
func (c *Config) bindOwnTools(v Services) ([]tools.DeclarativeTool, error) {
	own := slices.Clone(c.params().Tools)
	if c.params().Bind != nil {
		bound, err := c.params().Bind(v)
		if err != nil {
			return nil, cannotBind(err)
		}
		for _, t := range bound {
			// A derived Config takes over what is of another origin.
			if t != nil && t.Spec().Origin != (tools.Origin{}) {
				return nil, cannotBind(fmt.Errorf("%q has an origin, which only discovered tools have", t.Spec().Name))
			}
		}
		own = append(own, bound...)
	}
	others := tools.Selection{Exclude: c.excluded()}
	return slices.DeleteFunc(own, func(t tools.DeclarativeTool) bool {
		return t != nil && !others.Includes(t.Spec(), true) // nil is for the registry to refuse
	}), nil
}

func cannotBind(err error) error {
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.InvalidConfig, "config.bind", "Binding the embedder's tools failed: "+err.Error()+".",
		"Correct the Bind of the Parameters.", err)
}

// copyDiscovered hands the parent's discovered tools on: they are shared
// values and are not discovered again.
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
	if c.params().OnDefect != nil {
		c.params().OnDefect(err)
		return
	}
	c.params().Logger.Error("a tool made a mistake", slog.Any("error", err))
}

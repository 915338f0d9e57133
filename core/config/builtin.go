package config

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/serving"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/discovered"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/catalog"
	"github.com/fettle-dev/fettle/core/tools/communicate"
	"github.com/fettle-dev/fettle/core/tools/file"
	"github.com/fettle-dev/fettle/core/tools/internaldocs"
	"github.com/fettle-dev/fettle/core/tools/memory"
	"github.com/fettle-dev/fettle/core/tools/plan"
	"github.com/fettle-dev/fettle/core/tools/search"
	"github.com/fettle-dev/fettle/core/tools/shell"
	"github.com/fettle-dev/fettle/core/tools/toollist"
	"github.com/fettle-dev/fettle/core/tools/web"
	"github.com/fettle-dev/fettle/docs"
)

// bindBuiltIns binds the selected built-in tools to a conversation's services,
// under the names of the layout.
func (c *Config) bindBuiltIns(sh *shared, s *session) ([]tools.DeclarativeTool, error) {
	var bound builtIns
	factories := file.Factories
	if s.state.Limits().ChangedRegionsAbove > 0 {
		factories = file.RegionsFactories
	}
	files, err := bind(c, factories, s.files, c.params().Tools.inDefaultSet)
	bound.add(nil, err)
	bound.add(c.openDialects(s, files))
	bound.add(bind(c, search.Factories, &search.Services{
		Paths: sh.workspace, Finder: &sh.finder, Visible: s.state, Now: c.params().Environment.Now, Results: s.state,
	}, always))
	bound.add(bind(c, shell.Factories, &shell.Services{
		Paths: sh.workspace, Directories: sh.workspace, Runner: &s.processes, Reader: &s.processes, Control: &s.processes, Seen: s.state,
		Terminal: c.params().Tools.Shell.Terminal, Confinement: c.confinementOf(sh), Results: s.state,
	}, always))
	var fetcher web.Fetcher = &sh.web
	bound.add(bind(c, web.FetchFactories, &fetcher, always))
	if c.params().Tools.WebSearch != nil {
		bound.add(bind(c, web.SearchFactories, &c.params().Tools.WebSearch, always))
	}
	bound.add(bind(c, plan.Factories, &plan.Services{
		Todos: &s.todos, Mode: planMode{c}, Files: sh.workspace, Dir: c.plansDir(sh.workspace.Target()),
	}, always))
	bound.add(bind(c, communicate.Factories, &communicate.Services{User: person{c.bus, c.subagent}}, always))
	bound.add(bind(c, memory.Factories, &memory.Services{Facts: sh.memory}, always))
	bound.add(bind(c, internaldocs.Factories, &internaldocs.Services{Docs: docs.Files()}, always))
	bound.add(bind(c, catalog.Factories, &catalog.Services{Catalog: s.catalog, WhenShown: s.state.WhenShown}, always))
	bound.tools = append(bound.tools, c.resourceTools(sh)...)
	return bound.tools, bound.err
}

// fileServices returns the services of the tools that read and change files.
func (c *Config) fileServices(sh *shared, s *session) *file.Services {
	_, _, _, apply := c.params().Calls.hooks()
	return &file.Services{
		Paths: sh.workspace, Reader: s.state, Mutator: s.mutation, Directories: sh.workspace, Finder: &sh.finder,
		Hashes: s.state, Access: s.tracker, Apply: apply, Results: s.state, Retries: s.state,
	}
}

// toolsOf are the tools of a session for its scheduler.
type toolsOf struct {
	*tools.Registry
	files *file.Services
}

// Unregistered returns a file tool that is not registered, so that the scheduler
// can explain calls of it; nil for other tools.
func (t toolsOf) Unregistered(name string) tools.DeclarativeTool {
	all, err := file.Factories()
	if err != nil {
		return nil // a mistake in fettle, which Initialize reports
	}
	for _, f := range all {
		if f.Spec().Name == name {
			return f.BindShared(t.files)
		}
	}
	return nil
}

// builtIns collects tools until one family of them fails.
type builtIns struct {
	tools []tools.DeclarativeTool
	err   error
}

func (b *builtIns) add(bound []tools.DeclarativeTool, err error) {
	b.tools = append(b.tools, bound...)
	if b.err == nil {
		b.err = err
	}
}

// always reports that a tool is in the default set, for families without
// exceptions.
func always(string) bool { return true }

// bind binds one family of tools. The tools share the services.
func bind[S any](c *Config, factories func() ([]*tools.Factory[S], error), services *S, inDefaultSet func(name string) bool) ([]tools.DeclarativeTool, error) {
	family, err := factories()
	if err != nil {
		return nil, err
	}
	selection := c.selection()
	var bound []tools.DeclarativeTool
	for _, f := range family {
		spec := f.Spec()
		name, renamed := c.params().Environment.Layout.ToolNames[spec.Name]
		if !selection.Includes(spec, inDefaultSet(spec.Name) || renamed) {
			continue
		}
		tool := f.BindShared(services)
		if renamed {
			tool = tools.Rename(tool, name)
		}
		bound = append(bound, tool)
	}
	return bound, nil
}

// DefaultTools returns the names, including aliases, of the built-in tools in a
// layout's default set. It includes tools that require a service which not every
// session has.
func DefaultTools(l layout.Layout) []string {
	return slices.Concat(
		defaults(l, file.Factories, file.InDefaultSet), defaults(l, search.Factories, always), defaults(l, shell.Factories, always),
		defaults(l, web.FetchFactories, always), defaults(l, web.SearchFactories, always), defaults(l, plan.Factories, always),
		defaults(l, communicate.Factories, always), defaults(l, memory.Factories, always), defaults(l, internaldocs.Factories, always),
		defaults(l, catalog.Factories, always), skillDefaults(l))
}

// defaultTools is [DefaultTools] for readers: the list is shared by all Configs whose
// layout renames no tool.
func defaultTools(l layout.Layout) []string {
	if len(l.ToolNames) > 0 {
		return DefaultTools(l)
	}
	return unrenamed()
}

var unrenamed = sync.OnceValue(func() []string { return slices.Clip(DefaultTools(layout.Layout{})) })

// defaults returns the default tools of one family.
func defaults[S any](l layout.Layout, factories func() ([]*tools.Factory[S], error), inDefaultSet func(name string) bool) []string {
	family, err := factories()
	if err != nil {
		return nil // a mistake in fettle, which Initialize reports
	}
	var specs []tools.Spec
	for _, f := range family {
		specs = append(specs, f.Spec())
	}
	return defaultNames(l, specs, inDefaultSet)
}

// skillDefaults is as defaults, for the tool that activates skills.
func skillDefaults(l layout.Layout) []string {
	spec, err := skills.ToolSpec()
	if err != nil {
		return nil // as in defaults
	}
	return defaultNames(l, []tools.Spec{spec}, always)
}

// defaultNames returns the names of the tools in the default set.
func defaultNames(l layout.Layout, specs []tools.Spec, inDefaultSet func(name string) bool) []string {
	var names []string
	for _, spec := range specs {
		declared, renamed := l.ToolNames[spec.Name]
		if !renamed && !inDefaultSet(spec.Name) {
			continue
		}
		names = append(append(names, spec.Name), spec.Aliases...)
		if renamed && !slices.Contains(spec.Aliases, declared) {
			names = append(names, declared)
		}
	}
	return names
}

// selection returns the selection of built-in tools that the parameters make.
func (c *Config) selection() toollist.Selection {
	return toollist.Selection{Core: c.params().Tools.Core, Exclude: c.excluded()}
}

// external reports whether programs of the user declare or run tools.
func (t *Tools) external() bool { return t.DiscoveryCommand != "" || t.CallCommand != "" }

// discoverTools returns a function that runs the discovery command.
func (c *Config) discoverTools(sh *shared, s *session) func(ctx context.Context) ([]tools.DeclarativeTool, error) {
	return func(ctx context.Context) ([]tools.DeclarativeTool, error) {
		var runner discovered.Runner = &s.processes
		if c.params().Tools.DiscoverySandbox {
			runner = confinedRunner{sh.programs.service}
		}
		found, dropped, err := discovered.Discover(ctx, discovered.Options{
			DiscoveryCommand: c.params().Tools.DiscoveryCommand, CallCommand: c.params().Tools.CallCommand,
			Dir: sh.workspace.Target(), Runner: runner,
		})
		c.noteDiscovery(dropped...)
		return found, err
	}
}

// noteDiscovery records problems of the discovery of tools.
func (c *Config) noteDiscovery(problems ...error) {
	for _, p := range problems {
		c.params().Environment.Logger.Warn("discovering tools", slog.Any("error", p))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discoveryProblems = append(c.discoveryProblems, problems...)
}

// DiscoveryProblems returns the problems of the discovery of tools, each with its
// remedy: a failed discovery command, or a declared tool that was dropped. The
// session continues without them.
func (c *Config) DiscoveryProblems() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]error(nil), c.discoveryProblems...)
}

// split returns the errors joined by [errors.Join], or err itself; none for nil.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // err itself, and nothing below it
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// person answers the questions of ask_user through the session's bus.
type person struct {
	bus      *bus.MessageBus
	subagent string // the agent that asks; "" is the main agent
}

// Ask sends the questions to the front ends.
func (p person) Ask(ctx context.Context, questions []communicate.Question) (communicate.Answers, error) {
	wire := make([]bus.UserQuestion, len(questions))
	for i, q := range questions {
		wire[i] = bus.UserQuestion{
			Question: q.Question, Header: q.Header, Type: bus.UserQuestionType(q.Type),
			MultiSelect: q.MultiSelect, Placeholder: q.Placeholder,
		}
		for _, o := range q.Options {
			wire[i].Options = append(wire[i].Options, bus.UserOption(o))
		}
	}
	answer, err := bus.Ask(ctx, p.bus, bus.AskUserRequest{CallID: serving.CallID(ctx), Subagent: p.subagent, Questions: wire})
	switch {
	case err == nil:
		return communicate.Answers{ByIndex: answer.Answers, Dismissed: answer.Cancelled}, nil
	case ctx.Err() != nil:
		return communicate.Answers{}, fault.WasCancelled("config.ask", ctx.Err())
	case errors.Is(err, bus.ErrNoApprover), errors.Is(err, bus.ErrClosed):
		return communicate.Answers{}, fault.Wrap(fault.NoApprover, "config.ask", "No approver is available to answer questions.",
			"Continue with the most likely choice, and report your assumptions.", err)
	}
	return communicate.Answers{}, fault.Wrap(fault.ExecutionFailed, "config.ask", "The questions could not be asked: "+err.Error()+".", "", err)
}

// Package agentset finds the subagents of a session, and determines the
// permissions of each.
package agentset

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/config/internal/paths"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/catalog"
)

// DirName is the name of the directory of agent definitions, below the user's and
// the project's settings directory.
const DirName = "agents"

// Remote creates tools of agents at other servers.
type Remote interface {
	Tool(d subagent.Definition, conversation func() string) (subagent.AgentTool, error)
	Close() error
}

// Sources are the locations of definitions, and the functions to check them.
type Sources struct {
	Definitions []subagent.Definition // take precedence over fettle's own
	Dirs        []subagent.Dir
	UserDir     string // the user's settings directory; "": there is none
	ProjectDir  string // that of the project; "": it is not trusted
	// ClaudeUser and ClaudeProject are the directories of settings of Claude Code, in the home directory and in the
	// project; "": not read.
	ClaudeUser, ClaudeProject string
	Registry                  *tools.Registry
	Local                     bool // there are models for local agents
	CheckModel                func(name string) error
	Rules                     func(policy.Change) error // receives the rules for the commands of agents
	Logger                    *slog.Logger
}

// Set is the set of subagents of a session and of those derived from it. The zero
// value is empty.
type Set struct {
	Remote Remote                // set before the first Load; nil: none
	found  atomic.Pointer[found] // replaced as a whole
}

// Close closes the service for remote agents.
func (s *Set) Close() error {
	if s.Remote == nil {
		return nil
	}
	return s.Remote.Close()
}

func (s *Set) now() *found {
	if found := s.found.Load(); found != nil {
		return found
	}
	return &found{}
}

// Definitions returns the available agents. They must not be modified.
func (s *Set) Definitions() []subagent.Definition { return s.now().defs }

// Problems returns the problems in definitions.
func (s *Set) Problems() []fault.Problem { return slices.Clone(s.now().problems) }

// Tools creates a tool for each agent; conversation returns the ID of its
// conversation.
func (s *Set) Tools(r *subagent.Runner, conversation func() string) ([]tools.DeclarativeTool, error) {
	var all []tools.DeclarativeTool
	for _, d := range s.now().defs {
		var t tools.DeclarativeTool
		var err error
		if d.IsRemote() {
			t, err = s.Remote.Tool(d, conversation)
		} else {
			t, err = r.Tool(d)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// found is the result of reading the definitions.
type found struct {
	defs     []subagent.Definition
	problems []fault.Problem
	rules    []policy.Rule // for the commands that the agents may run
}

// isNotice reports whether a problem is a remark for the author of a definition.
func isNotice(p fault.Problem) bool { return p.Severity == fault.SeverityNotice }

func sameName(name string) func(subagent.Definition) bool {
	return func(d subagent.Definition) bool { return d.Name == name }
}

// Load reads the definitions and replaces the previous ones; the tools of removed
// agents are removed. The error has code cancelled, or is that of Rules.
func (s *Set) Load(ctx context.Context, from Sources) error {
	before := s.now()
	o := subagent.LoadOptions{
		BuiltIn: slices.Concat(from.Definitions, subagent.BuiltIn()),
		Dirs:    slices.Clone(from.Dirs),
		Tools:   from.Registry.All, CheckModel: from.CheckModel,
		Reserved: func(name string) bool {
			_, err := from.Registry.Lookup(name)
			return err == nil && !slices.ContainsFunc(before.defs, sameName(name))
		},
	}
	if from.UserDir != "" {
		o.Dirs = append(o.Dirs, subagent.Dir{Path: filepath.Join(from.UserDir, DirName), Scope: subagent.ScopeUser})
	}
	if from.ProjectDir != "" && !paths.Same(from.ProjectDir, from.UserDir) {
		o.Dirs = append(o.Dirs, subagent.Dir{Path: filepath.Join(from.ProjectDir, DirName), Scope: subagent.ScopeProject})
	}
	for _, claude := range []subagent.Dir{{Path: from.ClaudeProject, Scope: subagent.ScopeProject}, {Path: from.ClaudeUser, Scope: subagent.ScopeUser}} {
		if claude.Path != "" {
			o.Dirs = append(o.Dirs, subagent.Dir{Path: filepath.Join(claude.Path, DirName), Scope: claude.Scope, Claude: true})
		}
	}
	a := &found{}
	var err error
	if a.defs, a.problems, err = subagent.Load(ctx, o); err != nil {
		return fault.WasCancelled("config.Initialize", err)
	}
	a.problems = slices.DeleteFunc(a.problems, isNotice)
	a.defs = slices.Clone(slices.DeleteFunc(a.defs, func(d subagent.Definition) bool { return !s.makes(a, d, from.Local) })) // often empty
	for _, problem := range a.problems {
		if !slices.Contains(before.problems, problem) {
			from.Logger.Warn("agents", slog.String("problem", problem.String()))
		}
	}
	for i := range a.defs {
		a.rules = append(a.rules, rulesOf(&a.defs[i])...)
	}
	if err := from.Rules(policy.Change{Remove: before.rules, Add: a.rules}); err != nil {
		return err
	}
	s.found.Store(a)
	for _, d := range before.defs {
		if !slices.ContainsFunc(a.defs, sameName(d.Name)) {
			from.Registry.Unregister(d.Name)
		}
	}
	return nil
}

// makes reports whether the definition can become a tool.
func (s *Set) makes(a *found, d subagent.Definition, local bool) bool {
	switch {
	case !d.IsRemote():
		return local
	case s.Remote == nil:
		return false
	}
	if _, err := s.Remote.Tool(d, nil); err != nil {
		a.problems = append(a.problems, fault.Problem{Path: d.Source.Path, Line: d.Source.Line, Message: fault.MessageOf(err), Severity: fault.SeverityError})
		return false
	}
	return true
}

// rulesOf returns the rules that restrict an agent to the commands in its
// definition. Commands that cannot be parsed permit none.
func rulesOf(d *subagent.Definition) []policy.Rule {
	var rules []policy.Rule
	at := policy.Rule{Name: "commands of the agent " + d.Name, Subagent: d.Name, Source: d.Source.Path, Line: d.Source.Line}
	if d.OnlyCommands != nil {
		rules = append(rules, toolrules.OnlyCommands(at, d.OnlyCommands))
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

// Mode returns the mode of a run: the definition's if it is stricter than the
// caller's, and "" for the caller's.
func Mode(d *subagent.Definition, caller policy.ApprovalMode) policy.ApprovalMode {
	mode := policy.ApprovalMode(d.Mode)
	if d.Mode == "" || !mode.Stricter(caller) {
		return ""
	}
	return mode
}

// Tools returns the names of the tools of an agent's run, as the run selects
// them, except for complete_task, which the run adds.
func Tools(d *subagent.Definition, available []tools.DeclarativeTool) map[string]bool {
	chosen, _ := d.Select(available)
	has := map[string]bool{}
	for _, t := range slices.Concat(chosen, d.Values) {
		has[t.Spec().Name] = true
	}
	return has
}

// GrantSearch adds tool_search to the tools of an agent that has MCP or
// discovered tools, so that a list that names a server declares no more tools
// than the caller's. It returns the added names.
func GrantSearch(r *tools.Registry, has map[string]bool) []string {
	search, err := r.Lookup(catalog.ToolSearch)
	if err != nil || search.Spec().Origin.Group != tools.GroupBuiltIn || has[catalog.ToolSearch] {
		return nil
	}
	if !slices.ContainsFunc(r.All(), func(t tools.DeclarativeTool) bool {
		spec := t.Spec()
		return has[spec.Name] && spec.Origin.Group != tools.GroupBuiltIn
	}) {
		return nil
	}
	has[catalog.ToolSearch] = true
	return []string{catalog.ToolSearch}
}

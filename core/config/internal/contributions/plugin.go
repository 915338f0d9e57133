package contributions

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/commands/commandfile"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/internal/hookrun"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// Variables of Claude Code: the directory of a plugin, and that of the project.
const (
	pluginRoot = "CLAUDE_PLUGIN_ROOT"
	projectDir = "CLAUDE_PROJECT_DIR"
)

// plugin adds the contributions of a plugin of Claude Code, except for hooks and servers,
// which other extensions have in the same way.
func (b *bringing) plugin(e extensions.Extension, of Dir) {
	for _, path := range e.Plugin.Commands {
		dir := of
		dir.Path, dir.Markdown, dir.Namespace = path, true, e.Name
		b.all.Commands = append(b.all.Commands, dir)
	}
	for _, path := range e.Plugin.Skills {
		dir := of
		dir.Path = path
		b.all.Skills = append(b.all.Skills, dir)
	}
	b.all.Agents = append(b.all.Agents, pluginAgents(e, of.Variables)...)
}

func pluginAgents(e extensions.Extension, variables map[string]string) []subagent.Dir {
	var all []subagent.Dir
	for _, path := range e.Plugin.Agents {
		all = append(all, subagent.Dir{Path: path, Scope: subagent.ScopeExtension, Extension: e.Name, Claude: true, Expand: Expand(variables)})
	}
	return all
}

// pluginEnv returns the environment of the programs of an extension.
func pluginEnv(e extensions.Extension) []string {
	env := e.Env()
	if e.Plugin != nil {
		env = append(env, pluginRoot+"="+e.Path)
	}
	return env
}

// originOf returns the origin of the hooks of an extension, without variables.
func originOf(e extensions.Extension, data []byte) hookrun.Origin {
	return hookrun.Origin{Source: hooks.SourceExtension, Path: e.HooksFile, Extension: e.Name, Claude: claudeHooks(e, data), Tools: ToolNames()}
}

// ToolNames returns the names of tools that matchers of hooks may use: fettle's, and those
// of other programs. The list is shared and must not be modified.
func ToolNames() []string { return toolNames() }

var toolNames = sync.OnceValue(func() []string {
	names := policy.WellKnownNames()
	for _, name := range names {
		names = append(names, toollist.NamesElsewhere(name)...)
	}
	return slices.Clip(names)
})

// claudeHooks reports whether the hooks of an extension are in the form of Claude Code.
func claudeHooks(e extensions.Extension, data []byte) bool {
	return e.Plugin != nil || hookrun.IsClaude(data)
}

// hooksIn returns the origin of the hooks of an extension in a session. Those of Claude
// Code get its variables.
func hooksIn(of Dir, e extensions.Extension, data []byte, workspace string) Dir {
	if of.Claude = claudeHooks(e, data); e.Plugin != nil || !of.Claude && !bytes.Contains(data, []byte(pluginRoot)) {
		return of
	}
	of.Variables = maps.Clone(of.Variables)
	of.Variables[pluginRoot] = e.Path
	if workspace != "" {
		of.Variables[projectDir] = workspace
	}
	of.Env = append(slices.Clip(of.Env), pluginRoot+"="+e.Path)
	return of
}

// PluginProblems returns the problems in the commands, agents and skills of a plugin of
// Claude Code, as sessions read them; nil for any other extension. The error is that of
// ctx.
func PluginProblems(ctx context.Context, e extensions.Extension) ([]fault.Problem, error) {
	if e.Plugin == nil {
		return nil, nil
	}
	variables := extensionstore.VariablesOf(e, "")
	var dirs []commandfile.Dir
	for _, path := range e.Plugin.Commands {
		dirs = append(dirs, commandfile.Dir{Path: path, Markdown: true, Namespace: e.Name, Extension: e.Name, ID: e.ID, Variables: variables})
	}
	_, all, err := commandfile.New(commandfile.Options{Dirs: dirs}).Load(ctx)
	if err != nil {
		return nil, err
	}
	_, problems, err := subagent.Load(ctx, subagent.LoadOptions{Dirs: pluginAgents(e, variables)})
	if err != nil {
		return nil, err
	}
	all = append(all, problems...)
	var found []skills.Dir
	for _, path := range e.Plugin.Skills {
		found = append(found, skills.Dir{Path: path, Scope: skills.ScopeExtension, Extension: e.Name, Within: e.Path})
	}
	m := &skills.SkillManager{}
	if err := m.Discover(ctx, nil, found); err != nil {
		return nil, err
	}
	return append(all, m.Problems()...), nil
}

// Omitted returns the parts of a plugin of Claude Code that sessions do not load: files
// that are refused, and hooks that do not run as written.
func Omitted(ctx context.Context, e extensions.Extension) []extensions.Omitted {
	problems, err := PluginProblems(ctx, e)
	if err != nil {
		return nil // it was cancelled
	}
	problems = slices.DeleteFunc(problems, func(p fault.Problem) bool { return !p.IsError() })
	if e.Plugin != nil {
		problems = append(problems, CheckHooks(e)...)
	}
	var all []extensions.Omitted
	for _, p := range problems {
		all = append(all, extensions.Omitted{Part: p.Path, Line: p.Line, Reason: p.Message})
	}
	return all
}

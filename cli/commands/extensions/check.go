package extensions

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/commands/commandfile"
	"github.com/fettle-dev/fettle/core/config/extensioncheck"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

func checkHooks(_ context.Context, e extensions.Extension) ([]fault.Problem, error) {
	var all []fault.Problem
	for _, p := range extensioncheck.Hooks(e) {
		if p.Severity == "" {
			p.Severity = fault.SeverityOf(e.Plugin == nil)
		}
		all = append(all, p)
	}
	return all, nil
}

func checkSkills(ctx context.Context, e extensions.Extension) ([]fault.Problem, error) {
	if e.SkillsDir == "" {
		return nil, nil
	}
	m := &skills.SkillManager{}
	if err := m.Discover(ctx, nil, []skills.Dir{{Path: e.SkillsDir, Scope: skills.ScopeExtension, Extension: e.Name, Within: e.Path}}); err != nil {
		return partsChecked(ctx, nil)
	}
	var all []fault.Problem
	for _, p := range m.Problems() {
		all = append(all, found(p.Path, p.Line, p.Message, p.Remedy, p.IsError()))
	}
	return all, nil
}

func checkAgents(ctx context.Context, e extensions.Extension) ([]fault.Problem, error) {
	if e.AgentsDir == "" {
		return nil, nil
	}
	_, problems, err := subagent.Load(ctx, subagent.LoadOptions{Dirs: []subagent.Dir{{Path: e.AgentsDir, Scope: subagent.ScopeExtension, Extension: e.Name}}})
	if err != nil {
		return partsChecked(ctx, nil)
	}
	var all []fault.Problem
	for _, p := range problems {
		all = append(all, found(p.Path, p.Line, p.Message, p.Remedy, p.IsError()))
	}
	return all, nil
}

// checkPlugin checks the commands, agents and skills of a plugin of Claude Code. A part
// that is left out is listed with the others, and makes the plugin no error.
func checkPlugin(ctx context.Context, e extensions.Extension) ([]fault.Problem, error) {
	problems, err := extensioncheck.Plugin(ctx, e)
	if err != nil {
		return partsChecked(ctx, nil)
	}
	var all []fault.Problem
	for _, p := range problems {
		if p.IsError() {
			p.Severity = fault.SeverityWarning
		}
		all = append(all, p)
	}
	return all, nil
}

func checkPolicies(ctx context.Context, e extensions.Extension) ([]fault.Problem, error) {
	return partsChecked(ctx, extensioncheck.Rules(ctx, e))
}

func checkCommands(ctx context.Context, e extensions.Extension) ([]fault.Problem, error) {
	if e.CommandsDir == "" {
		return nil, nil
	}
	_, problems, err := commandfile.New(commandfile.Options{Dirs: []commandfile.Dir{{Path: e.CommandsDir, Extension: e.Name, ID: e.ID}}}).Load(ctx)
	if err != nil {
		return partsChecked(ctx, nil)
	}
	var all []fault.Problem
	for _, p := range problems {
		all = append(all, found(p.Path, p.Line, p.Message, p.Remedy, p.IsError()))
	}
	return all, nil
}

// checkPlans checks the directory for the plans of the extension.
func checkPlans(_ context.Context, e extensions.Extension) ([]fault.Problem, error) {
	if e.PlanDir == "" {
		return nil, nil
	}
	why := extensionstore.PlanDirectoryWrong(strings.TrimPrefix(e.PlanDir, "${workspacePath}/"), layout.PlanDirs())
	if why == "" {
		return nil, nil
	}
	return []fault.Problem{found(e.Manifest, 0, fmt.Sprintf("The directory %q of plan.directory %s; plans are not written there.", e.PlanDir, why),
		"Use a directory of its own, or one below "+layout.PlanDirs()[0]+".", true)}, nil
}

// checkExcluded checks the tools that the extension excludes.
func checkExcluded(_ context.Context, e extensions.Extension) ([]fault.Problem, error) {
	var all []fault.Problem
	for _, entry := range e.ExcludedTools {
		if err := extensioncheck.ExcludedTool(entry); err != nil {
			all = append(all, found(e.Manifest, 0, fault.As(err).Message, fault.As(err).Remedy, true))
			continue
		}
		name, _, bracketed := strings.Cut(entry, "(")
		name = strings.TrimSpace(name)
		tool, known := policy.WellKnown(name)
		if bracketed && tool.Tool != "run_shell_command" && !toollist.ParseEntry(entry).Shell() {
			all = append(all, found(e.Manifest, 0, fmt.Sprintf("The entry %q of excludeTools excludes the whole tool.", entry), "Omit the parentheses, or name commands of run_shell_command.", false))
		}
		if strings.Trim(name, "*") == "" {
			all = append(all, found(e.Manifest, 0, fmt.Sprintf("The entry %q of excludeTools excludes all tools.", entry), "Name specific tools.", false))
		}
		if known {
			continue
		}
		names := policy.WellKnownNames()
		if i := slices.IndexFunc(names, func(known string) bool { return strings.EqualFold(known, name) }); i >= 0 {
			all = append(all, found(e.Manifest, 0, fmt.Sprintf("Unknown tool %s in excludeTools.", name), "Write "+names[i]+"; names are case-sensitive.", false))
		}
	}
	return all, nil
}

// checkServers checks the servers before variables are expanded, because their values
// differ between machines.
func checkServers(_ context.Context, e extensions.Extension) ([]fault.Problem, error) {
	var all []fault.Problem
	lose := func(name, why, remedy string) {
		all = append(all, found(e.Manifest, 0, fmt.Sprintf("The MCP server %q is invalid: %s", name, why), remedy, true))
	}
	for _, name := range slices.Sorted(maps.Keys(e.MCPServers)) {
		var s settings.MCPServer
		if err := json.Unmarshal(e.MCPServers[name], &s); err != nil {
			lose(name, "its configuration is not a server.", "Give it a command with args, or a url.")
			continue
		}
		if err := mcp.CheckServerName(name); err != nil {
			lose(name, fault.As(err).Message, fault.As(err).Remedy)
		}
		switch {
		case s.TCP != "" && s.Command == "" && s.URL == "" && s.HTTPURL == "":
			lose(name, "servers at tcp are not supported.", "Give it a command with args, or a url.")
		case s.Command == "" && s.URL == "" && s.HTTPURL == "":
			lose(name, "it has neither a command nor a url.", "Add one of the two.")
		case s.Command != "" && filepath.IsAbs(s.Command):
			if _, err := os.Stat(s.Command); err != nil {
				all = append(all, found(e.Manifest, 0, fmt.Sprintf("The program %s of the MCP server %q does not exist.", s.Command, name), "Add it, or build it before the extension is installed.", false))
			}
		}
	}
	return all, nil
}

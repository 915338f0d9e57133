package subagent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/tools"
)

// EX-13: restrictions of an agent are understood.
func TestParseRestrictions(t *testing.T) {
	for line, want := range map[string]subagent.Definition{
		"tools: Bash(git diff:*, git log), Read":        {Tools: []string{"Bash", "Read"}, OnlyCommands: []string{"git diff", "git log"}},
		"tools: [Bash(git *), 'run_shell_command(ls)']": {Tools: []string{"Bash", "run_shell_command"}, OnlyCommands: []string{"git", "ls"}},
		"tools: [Bash(git *), Bash]":                    {Tools: []string{"Bash", "Bash"}},
		"tools: [Bash(git * x), Read(src)]":             {Tools: []string{}},
		"tools: [mcp__s__t, mcp__s]":                    {Tools: []string{"mcp_s_t", "mcp_s_*"}},
		"disallowedTools: Write, Bash(rm:*)":            {DisallowedTools: []string{"Write"}, DeniedCommands: []string{"rm"}},
		"disallowed-tools: [Bash(git * -f), Read(x)]":   {DisallowedTools: []string{"Read"}, DeniedCommands: []string{"git"}},
		"disallowedTools: Bash(*rm*)":                   {DisallowedTools: []string{"Bash"}},
		"permissionMode: plan":                          {Mode: "plan", DisallowedTools: []string{"exit_plan_mode", "enter_plan_mode"}},
		"permissionMode: acceptEdits":                   {Mode: "autoEdit"},
		"permissionMode: bypassPermissions":             {},
		"isolation: fork":                               {Fork: true},
		"isolation: worktree":                           {Fork: true},
		"isolation: none":                               {},
	} {
		defs, _ := parse(t, "---\nname: a\ndescription: d\n"+line+"\n---\nP")
		require.Len(t, defs, 1, line)
		d := defs[0]
		require.Equal(t, want, subagent.Definition{Tools: d.Tools, DisallowedTools: d.DisallowedTools, OnlyCommands: d.OnlyCommands,
			DeniedCommands: d.DeniedCommands, Mode: d.Mode, Fork: d.Fork}, line)
	}
	for _, line := range []string{
		"permissionMode: dontAsk", "permissionMode: [plan]", "disallowedTools: {a: b}", "disallowedTools: [[a]]", "disalowedTool: Write",
		"isolation: container", "isolation: [fork]", "isolation:", "kind: remote\nagent_card_url: https://a.b\nisolation: fork",
		"hooks: {PreToolUse: x}", "permissions: x", "kind: remote\nagent_card_url: https://a.b\npermissionMode: plan",
	} {
		defs, problems := parse(t, "---\nname: a\ndescription: d\n"+line+"\n---\nP")
		require.Empty(t, defs, line)
		require.NotEmpty(t, problems, line)
	}
}

// EX-13: a disallowed tool is removed, by whatever name.
func TestSelectWithoutDisallowed(t *testing.T) {
	all := []tools.DeclarativeTool{tool(t, "read_file", tools.KindRead), tool(t, "write_file", tools.KindEdit), server(t, "mcp_s_t", "s")}
	d := subagent.Definition{DisallowedTools: []string{"Write", "mcp_s_*"}}
	chosen, _ := d.Select(all)
	require.Len(t, chosen, 1)
	require.Equal(t, "read_file", chosen[0].Spec().Name)
}

package hookrun

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
)

func claudeHooks(t *testing.T, text string) ([]hooks.Hook, int) {
	t.Helper()
	all, problems := ParseJSON([]byte(text), Origin{Source: hooks.SourceExtension, Extension: "kit", Claude: true, Variables: map[string]string{"CLAUDE_PLUGIN_ROOT": "/a kit"}})
	return all, len(problems)
}

// UI-07: hooks in the form of Claude Code. A hook before a call that cannot be used asks
// about the calls of its matcher, and a matcher that is not understood matches all.
func TestClaudeHooks(t *testing.T) {
	for name, tt := range map[string]struct {
		text     string
		event    hooks.Event
		matcher  string
		command  string
		asks     bool
		problems int
		timeout  time.Duration
	}{
		"command":         {text: `{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"${CLAUDE_PLUGIN_ROOT}/x","timeout":5}]}]}`, event: hooks.BeforeTool, matcher: "Bash", command: `"${CLAUDE_PLUGIN_ROOT}/x"`, timeout: 5 * time.Second},
		"arguments":       {text: `{"PostToolUse":[{"hooks":[{"command":"node","args":["${CLAUDE_PLUGIN_ROOT}/x","a b"]}]}]}`, event: hooks.AfterTool, command: "node '/a kit/x' 'a b'"},
		"own server":      {text: `{"PreToolUse":[{"matcher":"mcp__plugin_kit_words__.*","hooks":[{"command":"x"}]}]}`, event: hooks.BeforeTool, matcher: "mcp__words__.*", command: "x"},
		"look-ahead":      {text: `{"PreToolUse":[{"matcher":"(?!Read).*","hooks":[{"command":"x"}]}]}`, event: hooks.BeforeTool, command: "x", problems: 1},
		"list as matcher": {text: `{"PreToolUse":[{"matcher":["Bash"],"hooks":[{"command":"x"}]}]}`, event: hooks.BeforeTool, command: "x", problems: 1},
		"prompt":          {text: `{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"prompt","prompt":"p"}]}]}`, event: hooks.BeforeTool, matcher: "Bash", asks: true, problems: 1},
		"no hooks":        {text: `{"PreToolUse":[{"matcher":"Bash"}]}`, event: hooks.BeforeTool, matcher: "Bash", asks: true, problems: 1},
		"other shell":     {text: `{"PreToolUse":[{"matcher":"Bash","hooks":[{"command":"x","shell":"powershell"}]}]}`, event: hooks.BeforeTool, matcher: "Bash", asks: true, problems: 1},
		"subagents":       {text: `{"SubagentStop":[{"matcher":"x","hooks":[{"command":"x"}]}]}`, event: hooks.AfterTool, matcher: "invoke_agent", command: "x"},
		"notification":    {text: `{"Notification":[{"matcher":"permission_prompt","hooks":[{"command":"x"}]}]}`, event: hooks.Notification, command: "x"},
		"compaction":      {text: `{"PreCompact":[{"matcher":"auto","hooks":[{"command":"x"}]}]}`, event: hooks.PreCompress, matcher: "auto", command: "x"},
		"condition":       {text: `{"PreToolUse":[{"matcher":"Bash","hooks":[{"command":"x","if":"Bash(git:*)"}]}]}`, event: hooks.BeforeTool, matcher: "Bash", command: "x", problems: 1},
	} {
		t.Run(name, func(t *testing.T) {
			all, problems := claudeHooks(t, `{"hooks":`+tt.text+`}`)
			require.Equal(t, tt.problems, problems)
			require.Len(t, all, 1)
			require.Equal(t, tt.event, all[0].Event)
			require.Equal(t, tt.matcher, all[0].Matcher)
			require.Equal(t, tt.command, all[0].Command)
			require.Equal(t, tt.timeout, all[0].Timeout)
			require.Equal(t, tt.asks, all[0].Run != nil)
		})
	}
	for _, text := range []string{`{"WorktreeCreate":[]}`, `{"Notification":[{"matcher":"idle_prompt","hooks":[{"command":"x"}]}]}`,
		`{"SessionStart":[{"matcher":"compact","hooks":[{"command":"x"}]}]}`, `{"Stop":[{"hooks":[{"type":"agent"}]}]}`} {
		all, problems := claudeHooks(t, `{"hooks":`+text+`}`)
		require.Empty(t, all, text)
		require.Equal(t, 1, problems, text)
	}
}

// UI-07: calls as hooks of Claude Code see them.
func TestClaudeInput(t *testing.T) {
	for name, tt := range map[string]struct {
		tool, args string
		names      []string
		want       string
		partly     bool
	}{
		"shell":     {tool: "run_shell_command", args: `{"command":"ls","is_background":true}`, want: `{"tool_name":"Bash","tool_input":{"command":"ls","run_in_background":true}}`},
		"patch":     {tool: "safe_patch", args: `{"file_path":"f","unified_diff":"@@ -1 +1 @@\n-a\n+b\n c\n"}`, want: `{"tool_name":"Edit","tool_input":{"file_path":"f","unified_diff":"@@ -1 +1 @@\n-a\n+b\n c\n","old_string":"a\nc\n","new_string":"b\nc\n"}}`},
		"search":    {tool: "search_file_content", args: `{"pattern":"x","dir_path":"d","include_pattern":"*.go"}`, want: `{"tool_name":"Grep","tool_input":{"pattern":"x","path":"d","glob":"*.go"}}`},
		"create":    {tool: "str_replace_based_edit_tool", args: `{"command":"create","path":"f","file_text":"t"}`, want: `{"tool_name":"Write","tool_input":{"command":"create","file_path":"f","content":"t"}}`},
		"agent":     {tool: "reader", names: []string{"reader", "invoke_agent"}, args: `{"query":"q"}`, want: `{"tool_name":"Task","tool_input":{"subagent_type":"reader","prompt":"q"}}`},
		"one file":  {tool: "apply_patch", args: `{"input":"*** Update File: a\n-x\n+y\n"}`, want: `{"tool_name":"Edit","tool_input":{"input":"*** Update File: a\n-x\n+y\n","file_path":"a","old_string":"x\n","new_string":"y\n"}}`},
		"two files": {tool: "apply_patch", args: `{"input":"*** Update File: a\n*** Delete File: b\n"}`, want: `{"tool_name":"Edit","tool_input":{"input":"*** Update File: a\n*** Delete File: b\n","file_path":"a","old_string":"","new_string":""}}`, partly: true},
		"unknown":   {tool: "other", args: `{"a":1}`, want: `{"tool_name":"other","tool_input":{"a":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			in := hooks.Input{Event: hooks.BeforeTool, ToolName: tt.tool, ToolInput: json.RawMessage(tt.args)}
			call := claudeCallOf(in, Subject{Names: tt.names})
			all := claudeInput(&hooks.Hook{Event: hooks.BeforeTool}, in, call)
			got, err := json.Marshal(map[string]any{"tool_name": all["tool_name"], "tool_input": all["tool_input"]})
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(got))
			require.Equal(t, tt.partly, call.partly)
		})
	}
}

// UI-07: the effects of output in the form of Claude Code.
func TestClaudeOutput(t *testing.T) {
	fire := func(e hooks.Event, tool string, args string, out Outcome) hookresult.Effect {
		r := New(Options{Hooks: []hooks.Hook{{Event: e, Command: "h", Claude: true}}, Exec: func(context.Context, Command) (Outcome, error) { return out, nil }})
		return r.Fire(t.Context(), hooks.Input{Event: e, ToolName: tool, ToolInput: json.RawMessage(args)}, Subject{Names: []string{tool}})
	}
	effect := fire(hooks.BeforeTool, "run_shell_command", "{}", outcome(2, "", "no"))
	require.Equal(t, hooks.Block, effect.Decision)
	effect = fire(hooks.AfterTool, "write_file", "{}", outcome(2, "", "format it"))
	require.Empty(t, effect.Decision)
	require.Equal(t, "format it", effect.AdditionalContext)
	effect = fire(hooks.BeforeAgent, "", "", outcome(0, "It is Monday.", "noise"))
	require.Equal(t, "It is Monday.", effect.AdditionalContext)
	require.Empty(t, effect.Messages)
	effect = fire(hooks.BeforeTool, "glob", "{}", outcome(0, "", "noise"))
	require.Empty(t, effect.Messages)
	effect = fire(hooks.BeforeTool, "glob", "{}", outcome(0, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"path":"src"}}}`, ""))
	require.JSONEq(t, `{"dir_path":"src"}`, string(effect.ToolInput))
	effect = fire(hooks.BeforeTool, "glob", "{}", outcome(0, `{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"r"}}`, ""))
	require.Equal(t, hooks.Block, effect.Decision)
	effect = fire(hooks.BeforeTool, "read_many_files", `{"paths":["a","b"]}`, outcome(0, "", ""))
	require.Equal(t, hooks.Ask, effect.Decision)
	for updated, want := range map[string]hooks.Decision{`{"file_path":"f","new_string":"safe"}`: hooks.Block, `{"file_path":"g","new_string":"b\n"}`: ""} {
		effect = fire(hooks.BeforeTool, "safe_patch", `{"file_path":"f","unified_diff":"@@ -1 +1 @@\n-a\n+b\n"}`, outcome(0, `{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":`+updated+`}}`, ""))
		require.Equal(t, want, effect.Decision, updated)
	}
}

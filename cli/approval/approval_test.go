package approval_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/core/bus"
)

// AR-21: every outcome has a key of its own, and no is always there.
func TestReplies(t *testing.T) {
	every := []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ProceedAlwaysAndSave, bus.ProceedAlwaysServer, bus.ProceedAlwaysTool, bus.ModifyWithEditor, bus.Cancel}
	keys := map[string]bus.Outcome{}
	for _, r := range approval.Replies(every) {
		require.NotContains(t, keys, r.Key)
		require.Contains(t, r.Label, "["+r.Key+"]")
		keys[r.Key] = r.Outcome
	}
	require.Len(t, keys, len(every))
	replies := approval.Replies([]bus.Outcome{bus.Cancel, "unknown", bus.ProceedOnce})
	require.Equal(t, []string{"y", "n"}, []string{replies[0].Key, replies[1].Key})
	require.Equal(t, "n", approval.Replies(nil)[0].Key)
}

func TestRemembers(t *testing.T) {
	edit := bus.ToolConfirmationRequest{ToolCall: bus.ToolCall{Name: "safe_patch"}, Details: bus.Confirmation{EditDetails: &bus.EditDetails{FilePath: "/p/x"}}}
	exec := bus.ToolConfirmationRequest{
		ToolCall: bus.ToolCall{Name: "run_shell_command"}, Details: bus.Confirmation{ExecDetails: &bus.ExecDetails{}},
		Remembers: []bus.Remembered{{Outcome: bus.ProceedAlways, Rules: []string{"allow run_shell_command(git status) in default, autoEdit"}, Commands: []string{"git status", "make"}}},
	}
	server := bus.ToolConfirmationRequest{Details: bus.Confirmation{MCPDetails: &bus.MCPDetails{ServerName: "store", ToolName: "buy"}}}
	fetch := bus.ToolConfirmationRequest{ToolCall: bus.ToolCall{Name: "web_fetch"}, Details: bus.Confirmation{InfoDetails: &bus.InfoDetails{URLs: []string{"https://example.org/a?b"}}}}
	plan := bus.ToolConfirmationRequest{ToolCall: bus.ToolCall{Name: "exit_plan_mode"}}
	tests := []struct {
		q    bus.ToolConfirmationRequest
		o    bus.Outcome
		want string
	}{
		{edit, bus.ProceedOnce, ""},
		{edit, bus.Cancel, ""},
		{edit, bus.ProceedAlways, "until this session ends: safe_patch on /p/x"},
		{edit, bus.ProceedAlwaysAndSave, "from now on, kept in your policy file: safe_patch on /p/x"},
		{edit, bus.ProceedAlwaysTool, "until this session ends: any call of safe_patch"},
		{exec, bus.ProceedAlways, "until this session ends: commands that begin with git status, or with make"},
		{exec, bus.ProceedAlwaysAndSave, "from now on, kept in your policy file: commands like those above that ask"},
		{server, bus.ProceedAlways, "until this session ends: the tool buy of the server store, with any arguments"},
		{server, bus.ProceedAlwaysServer, "until this session ends: any tool of the server store"},
		{fetch, bus.ProceedAlways, "until this session ends: web_fetch of any page of https://example.org"},
		{plan, bus.Cancel, "with what to change, if you like"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, approval.Remembers(tt.q, tt.o), "%s of %s", tt.o, tt.q.ToolCall.Name)
	}
}

// Answers that differ in how long they last alone are explained together, in words.
func TestLasts(t *testing.T) {
	both := []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ProceedAlwaysAndSave, bus.ProceedAlwaysTool, bus.Cancel}
	q := bus.ToolConfirmationRequest{
		ToolCall: bus.ToolCall{Name: "safe_patch"}, Details: bus.Confirmation{EditDetails: &bus.EditDetails{FilePath: "/p/x"}},
		Remembers: []bus.Remembered{{Outcome: bus.ProceedAlways, Rules: []string{"allow x in autoEdit"}}, {Outcome: bus.ProceedAlwaysAndSave, Rules: []string{"allow x in autoEdit"}}},
	}
	lasts := approval.Lasts(q, approval.Replies(both))
	require.Len(t, lasts, 2)
	require.Equal(t, "holds for safe_patch on this file", lasts[0].Text)
	require.Equal(t, "allow x in auto_edit", lasts[0].Rules)
	require.Len(t, lasts[0].Replies, 2)
	require.Equal(t, "holds for any call of safe_patch", lasts[1].Text)
	q.Remembers[1].Rules = nil // they do not mean the same
	require.Len(t, approval.Lasts(q, approval.Replies(both)), 3)
}

func TestWhy(t *testing.T) {
	part := func(text, decision, source string) bus.Part {
		return bus.Part{Text: text, Decision: decision, Source: source, Reason: `No rule allows "` + text + `".`}
	}
	q := bus.ToolConfirmationRequest{Decision: bus.Explanation{Decision: "ask_user", Source: "built-in", Parts: []bus.Part{part("a", "allow", "x"), part("b", "ask_user", "built-in")}}}
	require.Equal(t, "No rule allows it.", approval.Why(q))
	q.Decision.Parts = append(q.Decision.Parts, part("c", "ask_user", "built-in"))
	require.Equal(t, "2 of its 3 parts ask.", approval.Why(q))
	require.Equal(t, "no rule speaks of it", approval.Why(bus.ToolConfirmationRequest{}))
	q = bus.ToolConfirmationRequest{Decision: bus.Explanation{Reason: "It asks.", Rule: "r", Tier: "user", Source: "p.toml", Line: 3}}
	require.Equal(t, "It asks. (rule r, user tier, p.toml:3)", approval.Why(q))
	require.Equal(t, []string{"allowed", "denied", "asks", "asks"}, []string{approval.Verdict("allow"), approval.Verdict("deny"), approval.Verdict("ask_user"), approval.Verdict("")})
}

func TestRemembered(t *testing.T) {
	tests := []struct {
		u    bus.UpdatePolicy
		want string
	}{
		{bus.UpdatePolicy{ToolName: "safe_patch"}, "safe_patch; until this session ends."},
		{bus.UpdatePolicy{ToolName: "x", Persist: true}, "x; kept for later sessions."},
		{bus.UpdatePolicy{CommandPrefix: []string{"git", "go"}, AllowRedirection: true}, "commands that begin with git, or with go, redirections into the workspace included; until this session ends."},
		{bus.UpdatePolicy{MCPName: "store", ToolName: "*"}, "any tool of the server store; until this session ends."},
		{bus.UpdatePolicy{MCPName: "store", ToolName: "buy", Subagent: "s"}, "the tool buy of the server store, of the subagent s; until this session ends."},
		{bus.UpdatePolicy{ToolName: "web_fetch", ArgsPattern: "x"}, "web_fetch of any page of that host; until this session ends."},
		{bus.UpdatePolicy{ToolName: "safe_patch", ArgsPattern: `\x00"file_path":"/p/a\.b\(1\)"\x00`}, "safe_patch on /p/a.b(1); until this session ends."},
		{bus.UpdatePolicy{ToolName: "safe_patch", ArgsPattern: `"file_path":"/p/\w+"`}, "safe_patch with what was approved of its arguments; until this session ends."},
		{bus.UpdatePolicy{ToolName: "glob", ArgsPattern: "x"}, "glob with what was approved of its arguments; until this session ends."},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, approval.Remembered(tt.u))
	}
}

// Words of others are safe to show.
func TestHostileWords(t *testing.T) {
	const h = "\x1b[2J\n\u202e"
	q := bus.ToolConfirmationRequest{ToolCall: bus.ToolCall{Name: h}, Decision: bus.Explanation{Reason: h, Rule: h, Source: h}}
	for _, text := range []string{approval.Why(q), approval.Remembers(q, bus.ProceedAlwaysTool), approval.Remembered(bus.UpdatePolicy{ToolName: h}), approval.WhyPart(bus.Part{Reason: h, Source: "built-in"})} {
		require.False(t, strings.ContainsAny(text, "\x1b\n\u202e"), "%q", text)
	}
}

package approval_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
)

// AR-21: every outcome has its own key, and no is always offered.
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

// AR-20: the rules that an answer would add are shown one by one; answers that differ
// only in duration are grouped.
func TestLasts(t *testing.T) {
	both := []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ProceedAlwaysAndSave, bus.ProceedAlwaysTool, bus.ModifyWithEditor, bus.Cancel}
	q := bus.ToolConfirmationRequest{ToolCall: bus.ToolCall{Name: "run_shell_command"}, Remembers: []bus.Remembered{
		{Outcome: bus.ProceedAlways, Rules: []string{"commands that begin with head", "write_file on /x"}},
		{Outcome: bus.ProceedAlwaysAndSave, Rules: []string{"commands that begin with head", "write_file on /x"}},
		{Outcome: bus.ProceedAlwaysTool, Rules: []string{"any call of x"}},
	}}
	lasts := approval.Lasts(q, approval.Replies(both))
	require.Len(t, lasts, 2)
	require.Equal(t, q.Remembers[0].Rules, lasts[0].Lines)
	require.Len(t, lasts[0].Replies, 2)
	require.Equal(t, []string{"any call of x"}, lasts[1].Lines)

	q.Remembers[1].Rules = q.Remembers[1].Rules[:1] // they are not equal
	require.Len(t, approval.Lasts(q, approval.Replies(both)), 3)
	q.Remembers = nil
	for _, l := range approval.Lasts(q, approval.Replies(both)) {
		require.Equal(t, []string{"unknown rules"}, l.Lines)
	}
	plan := bus.ToolConfirmationRequest{ToolCall: bus.ToolCall{Name: "exit_plan_mode"}}
	lasts = approval.Lasts(plan, approval.Replies([]bus.Outcome{bus.ProceedOnce, bus.Cancel}))
	require.Len(t, lasts, 1)
	require.Equal(t, []string{"optionally with a reason"}, lasts[0].Lines)
}

func TestWhy(t *testing.T) {
	part := func(text, decision, source string) bus.Part {
		return bus.Part{Text: text, Decision: confirmation.Verdict(decision), Source: source, Reason: `No rule allows "` + text + `".`}
	}
	q := bus.ToolConfirmationRequest{Decision: bus.Explanation{Decision: "ask_user", Source: "built-in", Parts: []bus.Part{part("a", "allow", "x"), part("b", "ask_user", "built-in")}}}
	require.Equal(t, "No rule allows it.", approval.Why(q))
	q.Decision.Parts = append(q.Decision.Parts, part("c", "ask_user", "built-in"))
	require.Equal(t, "2 of its 3 parts need approval.", approval.Why(q))
	require.Equal(t, "no rule matches", approval.Why(bus.ToolConfirmationRequest{}))
	q = bus.ToolConfirmationRequest{Decision: bus.Explanation{Reason: "It asks.", Rule: "r", Tier: "user", Source: "p.toml", Line: 3}}
	require.Equal(t, "It asks. (rule r, user tier, p.toml:3)", approval.Why(q))
	require.Equal(t, []string{"allowed", "denied", "asks", "asks"}, []string{approval.Verdict("allow"), approval.Verdict("deny"), approval.Verdict("ask_user"), approval.Verdict("")})
}

func TestRemembered(t *testing.T) {
	for u, want := range map[*bus.UpdatePolicy]string{
		{ToolName: "x", Words: "any call of x"}:                "any call of x; until this session ends.",
		{ToolName: "x", Words: "any call of x", Persist: true}: "any call of x; kept for later sessions.",
		{ToolName: "x"}: "calls of x; until this session ends.",
	} {
		require.Equal(t, want, approval.Remembered(*u))
	}
}

// Foreign text is safe for the terminal.
func TestHostileWords(t *testing.T) {
	const h = "\x1b[2J\n\u202e"
	q := bus.ToolConfirmationRequest{ToolCall: bus.ToolCall{Name: h}, Decision: bus.Explanation{Reason: h, Rule: h, Source: h}, Remembers: []bus.Remembered{{Outcome: bus.ProceedAlways, Rules: []string{h}}}}
	lasts := approval.Lasts(q, approval.Replies([]bus.Outcome{bus.ProceedAlways}))[0].Lines[0]
	for _, text := range []string{approval.Why(q), lasts, approval.Remembered(bus.UpdatePolicy{ToolName: h}), approval.WhyPart(bus.Part{Reason: h, Source: "built-in"})} {
		require.False(t, strings.ContainsAny(text, "\x1b\n\u202e"), "%q", text)
	}
}

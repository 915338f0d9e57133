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

// AR-20, UI-02: every answer has a line on its effect. The rules that an answer
// would add are shown one by one; answers that differ only in duration are grouped.
func TestChoices(t *testing.T) {
	q := bus.ToolConfirmationRequest{
		ToolCall: bus.ToolCall{Name: "run_shell_command"},
		Outcomes: []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ProceedAlwaysAndSave, bus.ProceedAlwaysTool, bus.ModifyWithEditor, bus.Cancel},
		Remembers: []bus.Remembered{
			{Outcome: bus.ProceedAlways, Rules: []string{"commands that begin with head", "write_file on /x"}},
			{Outcome: bus.ProceedAlwaysAndSave, Rules: []string{"commands that begin with head", "write_file on /x"}},
			{Outcome: bus.ProceedAlwaysTool, Rules: []string{"any call of x"}},
		},
	}
	var stores []string
	for _, c := range approval.Choices(q, "~/saved.toml") {
		stores = append(stores, c.Key+": "+c.Stores(false))
	}
	require.Equal(t, []string{
		"y: nothing is stored",
		"a: until this session ends: the 2 rules above",
		"s: saved in ~/saved.toml: the 2 rules above",
		"t: until this session ends: any call of x",
		"e: opens your editor, then asks again",
		"n: it does not run; you can say what to do instead",
	}, stores)
	require.Equal(t, "until this session ends: the rule above", approval.Choices(q, "")[3].Stores(true))

	groups := approval.Groups(approval.Choices(q, ""))
	require.Len(t, groups, 2)
	require.Equal(t, q.Remembers[0].Rules, groups[0].Rules)
	require.Equal(t, "[a] until this session ends, [s] from now on, kept in your policy file", groups[0].Heading())
	require.Equal(t, []string{"any call of x"}, groups[1].Rules)

	q.Remembers[1].Rules = q.Remembers[1].Rules[:1] // they are not equal
	require.Len(t, approval.Groups(approval.Choices(q, "")), 3)
	q.Remembers = nil
	for _, g := range approval.Groups(approval.Choices(q, "")) {
		require.Equal(t, []string{"unknown rules"}, g.Rules)
	}
	plan := bus.ToolConfirmationRequest{ToolCall: bus.ToolCall{Name: "exit_plan_mode"}, Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel}}
	require.Empty(t, approval.Groups(approval.Choices(plan, "")))
	require.Equal(t, "the plan is not carried out; say what to change", approval.Choices(plan, "")[1].Scope)
}

func TestWhy(t *testing.T) {
	part := func(text, decision, source string) confirmation.Part {
		return confirmation.Part{Text: text, Decision: confirmation.Verdict(decision), Source: source, Reason: `No rule allows "` + text + `".`}
	}
	q := bus.ToolConfirmationRequest{Decision: confirmation.Explanation{Decision: "ask_user", Source: "built-in", Parts: []confirmation.Part{part("a", "allow", "x"), part("b", "ask_user", "built-in")}}}
	require.Equal(t, "No rule allows it.", approval.Why(q))
	q.Decision.Parts = append(q.Decision.Parts, part("c", "ask_user", "built-in"))
	require.Equal(t, "2 of its 3 parts need approval.", approval.Why(q))
	require.Equal(t, "no rule matches", approval.Why(bus.ToolConfirmationRequest{}))
	q = bus.ToolConfirmationRequest{Decision: confirmation.Explanation{Reason: "It asks.", Rule: "r", Tier: "user", Source: "p.toml", Line: 3}}
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
	q := bus.ToolConfirmationRequest{ToolCall: bus.ToolCall{Name: h}, Decision: confirmation.Explanation{Reason: h, Rule: h, Source: h}, Outcomes: []bus.Outcome{bus.ProceedAlways}, Remembers: []bus.Remembered{{Outcome: bus.ProceedAlways, Rules: []string{h}}}}
	stores := approval.Choices(q, h)[0].Stores(false)
	for _, text := range []string{approval.Why(q), stores, approval.Remembered(bus.UpdatePolicy{ToolName: h}), approval.WhyPart(confirmation.Part{Reason: h, Source: "built-in"})} {
		require.False(t, strings.ContainsAny(text, "\x1b\n\u202e"), "%q", text)
	}
}

package policy_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// engine returns an engine with valid rules.
func engine(t testing.TB, rules ...policy.Rule) *policy.Engine {
	t.Helper()
	e, err := policy.NewEngine(policy.Options{Rules: rules})
	require.NoError(t, err)
	return e
}

// allowTool returns the rule for entries of the list of allowed tools (CR-26).
func allowTool(names ...string) policy.Rule {
	return policy.Rule{Tools: names, Decision: policy.Allow, Priority: 300, Tier: policy.TierUser, Source: "allowed tools"}
}

// AR-25, AR-27, CR-21: mode × kind. An unknown kind requires approval.
func TestModeByKind(t *testing.T) {
	const allow, ask = policy.Allow, policy.AskUser
	matrix := map[string][4]policy.Verdict{
		//                default, autoEdit, yolo, plan
		"read":        {allow, allow, allow, allow},
		"search":      {allow, allow, allow, allow},
		"think":       {allow, allow, allow, allow},
		"communicate": {allow, allow, allow, allow},
		"edit":        {ask, allow, allow, ask},
		"delete":      {ask, ask, allow, ask},
		"move":        {ask, ask, allow, ask},
		"execute":     {ask, ask, allow, ask},
		"fetch":       {ask, ask, allow, ask},
		"other":       {ask, ask, allow, ask},
		"":            {ask, ask, allow, ask},
		"reading":     {ask, ask, allow, ask},
	}
	e := engine(t)
	modes := []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit, policy.ModeYolo, policy.ModePlan}
	for kind, verdicts := range matrix {
		for i, mode := range modes {
			t.Run(fmt.Sprintf("%s in %s", kind, mode), func(t *testing.T) {
				d := e.Decide(policy.Call{Tool: "x", Kind: kind, Mode: mode})
				require.Equal(t, verdicts[i], d.Decision)
				require.NotEmpty(t, d.Reason)
				require.Equal(t, "built-in", d.Source)
				require.Equal(t, "default", d.Tier)
				changes := kind == "edit" || kind == "delete" || kind == "move" || kind == "execute"
				require.Equal(t, mode == policy.ModePlan && changes, d.Previews)
				denied := engine(t, policy.Rule{Tools: []string{"x"}, Decision: policy.Deny, Tier: policy.TierExtension})
				require.Equal(t, policy.Deny, denied.Decide(policy.Call{Tool: "x", Kind: kind, Mode: mode}).Decision)
			})
		}
	}
	require.Equal(t, e.Decide(policy.Call{Tool: "x", Kind: "edit", Mode: policy.ModeDefault}), e.Decide(policy.Call{Tool: "x", Kind: "edit"}))
	require.Equal(t, policy.AskUser, e.Decide(policy.Call{Tool: "x", Kind: "edit", Mode: "YOLO"}).Decision)
}

// A tool that mutates requires approval whatever its kind, and never runs in plan
// mode.
func TestMutatesWins(t *testing.T) {
	call := policy.Call{Tool: "x", Kind: "read", Mutates: true}
	require.Equal(t, policy.AskUser, engine(t).Decide(call).Decision)
	call.Mode = policy.ModePlan
	d := engine(t, allowTool("x")).Decide(call)
	require.Equal(t, policy.AskUser, d.Decision)
	require.True(t, d.Previews)
	byEffect := policy.Call{Tool: "x", Kind: "read", Effects: []string{"write_files"}}
	require.Equal(t, policy.AskUser, engine(t).Decide(byEffect).Decision)
}

// CR-26: tools allowed by name.
func TestAllowedByName(t *testing.T) {
	tests := map[string]struct {
		call    policy.Call
		allowed []string
		want    policy.Verdict
	}{
		"by name":           {policy.Call{Tool: "write_file", Kind: "edit"}, []string{"write_file"}, policy.Allow},
		"by alias":          {policy.Call{Tool: "edit", Aliases: []string{"replace"}, Kind: "edit"}, []string{"replace"}, policy.Allow},
		"by known alias":    {policy.Call{Tool: "edit", Kind: "edit"}, []string{"replace"}, policy.Allow},
		"called by alias":   {policy.Call{Tool: "replace", Kind: "edit"}, []string{"edit"}, policy.Allow},
		"another":           {policy.Call{Tool: "write_file", Kind: "edit"}, []string{"glob", "write"}, policy.AskUser},
		"nameless tool":     {policy.Call{Kind: "edit"}, []string{"x"}, policy.AskUser},
		"edit, safe_patch":  {policy.Call{Tool: "safe_patch", Kind: "edit"}, []string{"edit", "replace"}, policy.AskUser},
		"a change, in plan": {policy.Call{Tool: "write_file", Kind: "edit", Mode: policy.ModePlan}, []string{"write_file"}, policy.AskUser},
		"a fetch, in plan":  {policy.Call{Tool: "web_fetch", Kind: "fetch", Mode: policy.ModePlan}, []string{"web_fetch"}, policy.AskUser},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := engine(t, allowTool(tt.allowed...)).Decide(tt.call)
			require.Equal(t, tt.want, d.Decision)
			if d.Decision == policy.Allow {
				require.Equal(t, "allowed tools", d.Source)
				require.Equal(t, "user", d.Tier)
			}
		})
	}
}

func TestDecisionJSON(t *testing.T) {
	full := policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Deny, Rule: "r", Tier: "user", Source: "p.toml", Line: 3, Reason: "why",
		Parts: []confirmation.Part{{Text: "ls", Decision: policy.Allow}}}}
	text, err := json.Marshal(full)
	require.NoError(t, err)
	require.Equal(t, `{"decision":"deny","rule":"r","tier":"user","source":"p.toml","line":3,"reason":"why","parts":[{"text":"ls","decision":"allow"}]}`, string(text))
	var back policy.Decision
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, full, back)
	text, err = json.Marshal(policy.Decision{Explanation: confirmation.Explanation{Decision: policy.AskUser}})
	require.NoError(t, err)
	require.Equal(t, `{"decision":"ask_user","rule":"","tier":"","source":"","line":0,"reason":"","parts":null}`, string(text))
}

// Both spellings are parsed; autoEdit is printed.
func TestApprovalMode(t *testing.T) {
	for text, want := range map[string]policy.ApprovalMode{
		"": policy.ModeDefault, "default": policy.ModeDefault, "autoEdit": policy.ModeAutoEdit, "auto_edit": policy.ModeAutoEdit,
		"yolo": policy.ModeYolo, "plan": policy.ModePlan,
	} {
		got, err := policy.ParseApprovalMode(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		var m policy.ApprovalMode
		require.NoError(t, json.Unmarshal(fmt.Appendf(nil, "%q", text), &m))
		require.Equal(t, want, m)
		printed, err := json.Marshal(policy.ApprovalMode(text))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%q", want), string(printed))
	}
	for _, text := range []string{"YOLO", "auto-edit", " plan", "x"} {
		_, err := policy.ParseApprovalMode(text)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
		require.ErrorContains(t, err, text)
		_, err = json.Marshal(policy.ApprovalMode(text))
		require.Error(t, err)
		m := policy.ModePlan
		require.Error(t, m.UnmarshalText([]byte(text)))
		require.Equal(t, policy.ModePlan, m)
	}
	require.Equal(t, "default", policy.ApprovalMode("").String())
	require.Equal(t, "autoEdit", policy.ModeAutoEdit.String())
}

// The table of modes orders them, parses both spellings, and describes them.
func TestModes(t *testing.T) {
	modes := policy.Modes()
	require.Equal(t, []policy.ApprovalMode{policy.ModePlan, policy.ModeDefault, policy.ModeAutoEdit, policy.ModeAuto, policy.ModeYolo}, modes)
	for i, m := range modes {
		parsed, err := policy.ParseApprovalMode(m.Flag())
		require.NoError(t, err)
		require.Equal(t, m, parsed)
		require.NotEmpty(t, m.Meaning())
		for j, other := range modes {
			require.Equal(t, i < j, m.Stricter(other), "%s, %s", m, other)
		}
	}
	require.Equal(t, "auto_edit", policy.ModeAutoEdit.Flag())
	for _, text := range []policy.ApprovalMode{"", "x"} {
		require.Equal(t, []string{policy.ModeDefault.Flag(), policy.ModeDefault.Meaning()}, []string{text.Flag(), text.Meaning()})
		require.True(t, policy.ModePlan.Stricter(text))
		require.False(t, text.Stricter(policy.ModeDefault))
	}
}

// FuzzKinds: no change is ever allowed in plan mode, and otherwise only by mode,
// by kind or by a rule with a name of the tool.
func FuzzKinds(f *testing.F) {
	f.Add("edit", "default", "write_file", "write_file", false)
	f.Add("read", "plan", "x", "y*", true)
	f.Add("execute", "autoEdit", "sh", "sh", false)
	f.Fuzz(func(t *testing.T, kind, mode, tool, entry string, mutates bool) {
		e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{allowTool(entry)}})
		if err != nil || entry == "*" {
			return
		}
		d := e.Decide(policy.Call{Tool: tool, Kind: kind, Mode: policy.ApprovalMode(mode), Mutates: mutates})
		if d.Decision != policy.Allow {
			require.Equal(t, policy.AskUser, d.Decision)
			return
		}
		changes := mutates || kind == "edit" || kind == "delete" || kind == "move" || kind == "execute"
		if mode == "plan" && changes {
			t.Fatal("a change was allowed in plan mode")
		}
		byKind := !changes && (kind == "read" || kind == "search" || kind == "think" || kind == "communicate")
		edits := (mode == "autoEdit" || mode == "auto_edit") && kind == "edit"
		if !byKind && mode != "yolo" && !edits && d.Source != "allowed tools" {
			t.Fatalf("allowed without a reason: %+v", d)
		}
	})
}

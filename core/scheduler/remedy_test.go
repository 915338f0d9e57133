package scheduler_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// withoutApprover returns a scheduler over all kinds of tools with the policy engine, without an approver.
func withoutApprover(t *testing.T, mode policy.ApprovalMode, untrusted bool, rules ...policy.Rule) *scheduler.Scheduler {
	t.Helper()
	set := toolset{}
	set.add("write_file", tools.KindEdit, false, done)
	set.add("run_shell_command", tools.KindExecute, false, done)
	set.add("web_fetch", tools.KindFetch, false, done)
	for name, server := range map[string]string{"mcp_a_b_add": "a_b", "mcp_a_b_delete": "a"} {
		set[name] = &simple{tools.Spec{Name: name, Kind: tools.KindOther, Origin: tools.Origin{Group: tools.GroupMCP, Server: server, Tool: strings.TrimPrefix(name, "mcp_"+server+"_")}}, done}
	}
	e, err := policy.NewEngine(policy.Options{Rules: rules, Servers: []string{"a", "a_b"}})
	require.NoError(t, err)
	return scheduler.New(scheduler.Options{Tools: set, Policy: scheduler.InMemory(e), Mode: func() policy.ApprovalMode { return mode },
		Subject: func(c *policy.Call) { c.Dir, c.Roots, c.Untrusted = "/w", []string{"/w"}, untrusted }})
}

func userRule(decision policy.Verdict, priority int, tool string, prefixes ...string) policy.Rule {
	return policy.Rule{Tools: []string{tool}, CommandPrefix: prefixes, Decision: decision, Priority: priority, Tier: policy.TierUser, Source: "/h/policies.toml", Line: 7}
}

// AR-24; 20469, 16012, 19773: the denial names the flags that would allow the call, and with each of them the call
// runs. It names none if none would.
func TestFlagsThatWouldAllow(t *testing.T) {
	const allowed, yolo, edits = "--allowed-tools ", "--approval-mode yolo", "--approval-mode auto_edit"
	commands := allowed + "run_shell_command(PREFIX)"
	ask := userRule(policy.AskUser, 500, "*")
	tests := map[string]struct {
		call      string
		rules     []policy.Rule
		untrusted bool
		want      []string
		message   string
	}{
		"an edit":              {`write_file {"file_path":"a"}`, nil, false, []string{edits, allowed + "write_file"}, ""},
		"an edit of git's own": {`write_file {"file_path":".git/config"}`, nil, false, []string{yolo, allowed + "write_file"}, ""},
		"a fetch":              {`web_fetch {"url":"a"}`, nil, false, []string{yolo, allowed + "web_fetch"}, ""},
		"a server's tool":      {`mcp_a_b_add {}`, nil, false, []string{yolo, allowed + "mcp_a_b_add"}, `mcpName = "a_b"`},
		"a name like that of another server's tool": {`mcp_a_b_delete {}`, nil, false, []string{yolo}, `mcpName = "a", toolName = "b_delete"`},
		"a command":            {`run_shell_command {"command":"make a"}`, nil, false, []string{yolo, commands}, "A rule that allows the prefix"},
		"an edit, untrusted":   {`write_file {"file_path":"a"}`, nil, true, []string{edits, allowed + "write_file"}, ""},
		"a fetch, untrusted":   {`web_fetch {"url":"a"}`, nil, true, []string{allowed + "web_fetch"}, ""},
		"a command, untrusted": {`run_shell_command {"command":"make a"}`, nil, true, []string{commands}, ""},
		"a file elsewhere":     {`run_shell_command {"command":"make a > /x"}`, []policy.Rule{userRule(policy.Allow, 1, "run_shell_command", "make")}, false, []string{yolo}, "Write into the workspace directories"},
		"a file elsewhere, untrusted": {`run_shell_command {"command":"make a > /x"}`, []policy.Rule{userRule(policy.Allow, 1, "run_shell_command", "make")}, true, nil,
			"Write into the workspace directories."},
		"unknown program":            {`run_shell_command {"command":"$X"}`, nil, false, []string{yolo}, "Write the program"},
		"unknown program, untrusted": {`run_shell_command {"command":"$X"}`, nil, true, nil, "Write the program and its arguments literally, without expansions that are computed when the line runs."},
		"user's rule":                {`write_file {"file_path":"a"}`, []policy.Rule{ask}, false, nil, "Only a change of that rule in /h/policies.toml:7"},
		"user's rule, fetch":         {`web_fetch {"url":"a"}`, []policy.Rule{ask}, false, nil, "/h/policies.toml:7"},
		"user's rule about one part": {`run_shell_command {"command":"make a && git push"}`, []policy.Rule{userRule(policy.AskUser, 500, "run_shell_command", "git push")},
			false, nil, "Reason: "},
		"an administrator's rule": {`web_fetch {"url":"a"}`, []policy.Rule{{Name: "no net", Tools: []string{"web_fetch"}, Decision: policy.AskUser, Tier: policy.TierAdmin, Source: "/etc/p.toml"}},
			false, nil, `Reason: The rule "no net"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := withoutApprover(t, policy.ModeDefault, tt.untrusted, tt.rules...).RunAll(t.Context(), batchOf(tt.call))[0]
			require.Equal(t, fault.NoApprover, r.Result.Error.Code)
			remedy := r.Result.Error.Remedy
			require.NotEmpty(t, remedy)
			require.Contains(t, remedy, tt.message)
			for _, flag := range tt.want {
				require.Contains(t, remedy, flag)
			}
			require.Equal(t, len(tt.want), strings.Count(remedy, "--"), remedy)
			require.LessOrEqual(t, strings.Count(remedy, "allow it"), 1, "no repetition: %s", remedy)
			if tt.untrusted {
				require.NotContains(t, remedy, "yolo")
			}

			tool, _, _ := strings.Cut(tt.call, " ")
			for _, flag := range tt.want {
				mode, rules := policy.ModeDefault, tt.rules
				switch flag {
				case yolo:
					mode = policy.ModeYolo
				case edits:
					mode = policy.ModeAutoEdit
				case commands:
					rules = append(rules, userRule(policy.Allow, 300, tool, "make"))
				default:
					rules = append(rules, userRule(policy.Allow, 300, tool))
				}
				r := withoutApprover(t, mode, tt.untrusted, rules...).RunAll(t.Context(), batchOf(tt.call))[0]
				require.Equal(t, scheduler.StatusSuccess, r.Status, flag)
			}
			for _, flag := range []policy.ApprovalMode{policy.ModeAutoEdit, policy.ModeYolo} {
				if len(tt.want) > 0 || tt.untrusted {
					continue
				}
				rules := append(tt.rules, userRule(policy.Allow, 300, tool))
				r := withoutApprover(t, flag, tt.untrusted, rules...).RunAll(t.Context(), batchOf(tt.call))[0]
				require.Equal(t, fault.NoApprover, r.Result.Error.Code, "no flag would")
			}
		})
	}
}

// 20469, 5382: a tool that policy removes is distinguished from one that does not exist, with the rule that removes it.
func TestMissingToolIsDenied(t *testing.T) {
	listed := userRule(policy.Deny, 400, "edit")
	listed.Name, listed.Source, listed.Line, listed.DenyMessage = "excluded: edit", "--exclude-tools", 0, "Use the other one."
	for name, tt := range map[string]struct {
		tool    string
		rules   []policy.Rule
		message string // "": the tool does not exist
	}{
		"by name":           {"edit", []policy.Rule{listed}, `"excluded: edit" (user, --exclude-tools)`},
		"by another name":   {"replace", []policy.Rule{listed}, `"excluded: edit" (user, --exclude-tools)`},
		"by a wildcard":     {"discovered_tool_x", []policy.Rule{userRule(policy.Deny, 1, "discovered_tool_*")}, "/h/policies.toml:7"},
		"another tool":      {"glob", []policy.Rule{listed}, ""},
		"asked about":       {"edit", []policy.Rule{userRule(policy.AskUser, 1, "edit")}, ""},
		"no such tool":      {"frobnicate", nil, ""},
		"a part of a shell": {"ShellTool", []policy.Rule{userRule(policy.Deny, 1, "ShellTool", "git push")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := withoutApprover(t, policy.ModeDefault, false, tt.rules...)
			r := s.Run(t.Context(), scheduler.Request{Tool: tt.tool, Args: json.RawMessage(`{"command":"git push"}`)})
			require.Equal(t, scheduler.StatusError, r.Status)
			require.Equal(t, fault.ToolNotRegistered, r.Result.Error.Code)
			require.Contains(t, r.Result.Error.Message, "There is no such tool.")
			require.Equal(t, tt.message != "", strings.Contains(r.Result.Error.Message, "Policy denies it: The rule "))
			require.Contains(t, r.Result.Error.Message, tt.message)
			if tt.message != "" {
				require.Contains(t, r.Result.Error.Remedy, "Only a change of that rule")
			}
		})
	}
	r := withoutApprover(t, policy.ModeDefault, false, listed).Run(t.Context(), scheduler.Request{Tool: "edit"})
	require.Contains(t, r.Result.Error.Message, "Use the other one.")
}

// EX-20: a request for approval includes the remedy that a denial without an approver has.
func TestRequestNamesRemedy(t *testing.T) {
	refused := withoutApprover(t, policy.ModeDefault, false).RunAll(t.Context(), batchOf(`write_file {"file_path":"a"}`))[0]
	require.Contains(t, refused.Result.Error.Remedy, `[[rule]] with toolName = "write_file", decision = "allow" and priority = 100`)

	b := bus.New(bus.Options{})
	defer b.Close()
	var asked bus.ToolConfirmationRequest
	bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
		asked = q
		require.NoError(t, b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Outcome: bus.Cancel}))
	})
	set := toolset{}
	set.add("write_file", tools.KindEdit, false, done)
	s := scheduler.New(scheduler.Options{Tools: set, Bus: b})
	require.Equal(t, scheduler.StatusDenied, s.RunAll(t.Context(), batchOf(`write_file {"file_path":"a"}`))[0].Status)
	require.Equal(t, refused.Result.Error.Remedy, asked.Unasked)
}

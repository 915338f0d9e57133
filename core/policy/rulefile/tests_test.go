package rulefile_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// Every key of a [[test]], in both spellings.
func TestTests(t *testing.T) {
	file := parse(t, `
[[test]]
name = "no push"
toolName = "run_shell_command"
command = "git push <x>"
subagent = "s"
approvalMode = "auto_edit"
interactive = false
decision = "deny"
rule = "no push"
untrusted = true

[[test]]
tool = "read_file"
args = {file_path = "/a", limit = 5, since = 2026-01-02, deep = {f = 1.5, l = [true]}}
mode = "plan"
interactive = true
expect = "allow"

[[test]]
command = "ls"
expect = "ask_user"

[[test]]
tool = "search"
server = "my_server"
expect = "allow"

[[test]]
toolName = "mcp_my_server_search"
mcpName = "my_server"
decision = "allow"

[[test]]
tool = "nobody_knows"
decision = "allow"
`)
	require.Len(t, file.Tests, 6)
	shell := policy.Call{Kind: "other", Tool: "run_shell_command"}
	if known, ok := policy.WellKnown("run_shell_command"); ok {
		shell = known
	}
	shell.Params = json.RawMessage(`{"command":"git push <x>"}`)
	shell.Subagent, shell.Mode, shell.Headless, shell.Untrusted = "s", policy.ModeAutoEdit, true, true
	require.Equal(t, rulefile.Test{Name: "no push", Path: "p.toml", Line: 2, Call: shell, Expect: policy.Deny, Rule: "no push"}, file.Tests[0])

	read := file.Tests[1]
	require.Equal(t, "read_file", read.Call.Tool)
	require.Equal(t, policy.ModePlan, read.Call.Mode)
	require.False(t, read.Call.Headless)
	require.Equal(t, policy.Allow, read.Expect)
	require.Equal(t, `{"deep":{"f":1.5,"l":[true]},"file_path":"/a","limit":5,"since":"2026-01-02"}`, string(read.Call.Params))

	require.Equal(t, "run_shell_command", file.Tests[2].Call.Tool)
	require.Equal(t, policy.ModeDefault, file.Tests[2].Call.Mode)
	for _, test := range file.Tests[3:5] {
		require.Equal(t, "mcp_my_server_search", test.Call.Tool)
		require.Equal(t, "my_server", test.Call.Server)
		require.Equal(t, "search", test.Call.ServerTool)
	}
	require.Equal(t, policy.Call{Tool: "nobody_knows", Kind: "other", Params: json.RawMessage(`{}`), Mode: policy.ModeDefault}, file.Tests[5].Call)
}

func TestRunTest(t *testing.T) {
	file := parse(t, "\n[[test]]\nname = \"n\"\ntool = \"glob\"\nexpect = \"deny\"\nrule = \"r\"\n[[test]]\ntool = \"glob\"\nexpect = \"deny\"\n")
	answers := func(d policy.Decision) func(policy.Call) policy.Decision {
		return func(c policy.Call) policy.Decision {
			require.Equal(t, "glob", c.Tool)
			return d
		}
	}
	require.NoError(t, file.Tests[0].Run(answers(policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Deny, Rule: "r"}})))
	require.NoError(t, file.Tests[1].Run(answers(policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Deny, Rule: "any"}})))

	err := file.Tests[0].Run(answers(policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Allow, Rule: "x", Source: "q.toml", Line: 4, Reason: "Because."}}))
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.Equal(t, `p.toml:2: test "n": expected deny by rule "r", got allow by rule "x" of q.toml:4. Because.`, fault.As(err).Message)
	require.Error(t, file.Tests[0].Run(answers(policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Deny, Rule: "x"}})))
	err = file.Tests[1].Run(answers(policy.Decision{Explanation: confirmation.Explanation{Decision: policy.AskUser, Source: "--policy", Reason: "So.", Remedy: "Do."}}))
	require.Equal(t, "p.toml:7: expected deny, got ask_user of --policy. So. Do.", fault.As(err).Line())
}

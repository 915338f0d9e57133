package rulefile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// PB-04: tests of saved rules are added once, and are read as they were given.
func TestAppendTests(t *testing.T) {
	path := filepath.Join(t.TempDir(), SavedApprovals)
	require.NoError(t, os.WriteFile(path, []byte("# mine\n\n[[test]]\ncommand = \"ls\"\ndecision = \"allow\"\n"), 0o600))
	rule := policy.Rule{Decision: policy.Allow, Priority: 950, Tools: []string{"run_shell_command"},
		CommandPrefix: []string{"go test"}, Tier: policy.TierUser, Approval: true}
	call := func(tool, args string) policy.Call {
		c := callOf(tool, "")
		c.Params = json.RawMessage(args)
		return c
	}
	inMode := call("run_shell_command", `{"command":"go test '\"a b\"' | cat\n"}`)
	inMode.Mode, inMode.Subagent, inMode.Confined = policy.ModeAutoEdit, "reviewer", "landlock"
	remote := callOf("list", "tickets")
	remote.Params = json.RawMessage(`{"open":true,"limit":2.5,"tags":["a","b"],"by":{"user name":"x"}}`)
	tests := []Test{
		{Call: call("run_shell_command", `{"command":"go test ./..."}`), Expect: policy.Allow},
		{Call: inMode, Expect: policy.AskUser},
		{Call: call("run_shell_command", `{"command":"go test","timeout":5}`), Expect: policy.AskUser},
		{Call: call("write_file", `{"file_path":"/w/ü\".md"}`), Expect: policy.Allow},
		{Call: remote, Expect: policy.Allow},
	}
	for range 2 {
		backup, err := Append(t.Context(), path, []policy.Rule{rule}, tests...)
		require.NoError(t, err)
		require.Empty(t, backup)
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "# mine\n"))
	file, problems := Parse(path, text, Options{Tier: policy.TierUser})
	require.Empty(t, problems)
	require.Len(t, file.Rules, 1)
	require.Len(t, file.Tests, 1+len(tests))
	for i, want := range tests {
		got := file.Tests[i+1]
		require.Equal(t, want.Expect, got.Expect)
		require.JSONEq(t, string(want.Call.Params), string(got.Call.Params))
		require.Equal(t, want.Call.Mode.String(), got.Call.Mode.String())
		got.Call.Params, got.Call.Mode = want.Call.Params, want.Call.Mode
		require.Equal(t, want.Call, got.Call)
	}

	_, err = Append(t.Context(), path, nil, Test{Call: call("glob", `{"pattern":null}`), Expect: policy.Allow})
	require.Error(t, err, "TOML has no null")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(text), string(after))
}

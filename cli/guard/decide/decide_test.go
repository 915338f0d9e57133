package decide_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/guard/decide"
	"github.com/fettle-dev/fettle/core/policy"
)

// FD-03: settings may have rules that only fettle knows. Without fettle a call is then
// not allowed, and one that a policy file denies is denied.
func TestRulesOfSettings(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("PATH", "")
	settings := filepath.Join(home, ".fettle")
	require.NoError(t, os.MkdirAll(settings, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(settings, "policies.toml"), []byte(`
[[rule]]
toolName = "run_shell_command"
commandPrefix = "rm"
decision = "deny"
priority = 100
`), 0o600))
	verdict := func(tool, args string) policy.Decision {
		t.Helper()
		e, err := decide.Open(t.Context(), decide.Options{Dir: dir})
		require.NoError(t, err)
		d, err := e.Decide(t.Context(), decide.Call{Tool: tool, Args: json.RawMessage(args)})
		require.NoError(t, err)
		require.NoError(t, e.Close())
		return d
	}
	read := func() policy.Verdict { return verdict("read_file", `{"file_path":"a.txt"}`).Decision }
	require.Equal(t, policy.Allow, read())
	for name, text := range map[string]string{
		filepath.Join(settings, "settings.json"):                `{"tools": {"exclude": ["read_file"]}}`,
		filepath.Join(settings, "mcp-settings.json"):            `{"mcpServers": {}}`,
		filepath.Join(dir, ".fettle", "settings.json"):          `{broken`,
		filepath.Join(dir, ".env"):                              "FETTLE_APPROVAL_MODE=plan\n",
		filepath.Join(settings, "trusted_git.json"):             `{}`,
		filepath.Join(settings, "extensions", "x", "more.json"): `{}`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		d := verdict("read_file", `{"file_path":"a.txt"}`)
		require.Equal(t, policy.AskUser, d.Decision, name)
		require.Contains(t, d.Reason, "unknown: the program fettle was not found")
		require.Equal(t, policy.Deny, verdict("run_shell_command", `{"command":"rm x"}`).Decision, name)
		require.NoError(t, os.RemoveAll(name))
		_ = os.RemoveAll(filepath.Join(settings, "extensions"))
	}
	require.NoError(t, os.WriteFile(filepath.Join(settings, "settings.json"), []byte(`{"ui": {"theme": "dark"}, "model": {"name": "x"}}`), 0o600))
	require.Equal(t, policy.Allow, read(), "appearance and models have no rules")
	for text, want := range map[string]policy.Verdict{
		`{"general": {"vimMode": true, "preferredEditor": "vi"}, "security": {"auth": {"selectedType": "x"}}, "ide": {"enabled": true}}`: policy.Allow,
		`{"general": {"vimMode": true, "defaultApprovalMode": "plan"}}`:                                                                  policy.AskUser,
		`{"security": {"auth": {}, "folderTrust": {"enabled": false}}}`:                                                                  policy.AskUser,
		`{"general": 5}`:         policy.AskUser,
		`{"general": {}}`:        policy.AskUser,
		`{"general.vimMode": 1}`: policy.AskUser,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(settings, "settings.json"), []byte(text), 0o600))
		require.Equal(t, want, read(), text)
	}
	require.NoError(t, os.Remove(filepath.Join(settings, "settings.json")))

	e, err := decide.Open(t.Context(), decide.Options{Dir: dir})
	require.NoError(t, err)
	for _, call := range []decide.Call{
		{Tool: "read_file", Args: json.RawMessage(`[]`)},
		{Tool: "read_file", Args: json.RawMessage(`{"file_path":"a","file_path":"b"}`)},
		{Tool: "read_file", Args: json.RawMessage(`{"file_path":"a","File_Path":"b"}`)},
		{Tool: "mcp_a_b", Server: "a", ServerTool: "b", Args: json.RawMessage(`{"x":{"y":1,"y":2}}`)},
	} {
		_, err = e.Decide(t.Context(), call)
		require.Error(t, err, string(call.Args))
	}
	_, err = e.Decide(t.Context(), decide.Call{Tool: "mcp_a_b", Server: "a", ServerTool: "b", Args: json.RawMessage(`{"x":1,"X":2}`)})
	require.NoError(t, err, "a server may declare both")
	require.NoError(t, e.Close())
	_, err = decide.Open(t.Context(), decide.Options{Dir: dir, Layout: "x"})
	require.Error(t, err)
}

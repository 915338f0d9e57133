package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/guard"
	"github.com/fettle-dev/fettle/cli/guard/decide"
	"github.com/fettle-dev/fettle/cli/guard/hook"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// corpora returns the command lines of all corpora of the policy.
func corpora(t *testing.T) []string {
	t.Helper()
	dir := filepath.Join(root, "core", "policy", "testdata")
	var lines []string
	for _, name := range []string{"everyday.txt", "edits.txt", "programs.txt", "readonly.txt", "lookalikes.txt", "corpus.jsonl"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		scan := bufio.NewScanner(bytes.NewReader(data))
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			var entry struct{ Line string }
			switch line := scan.Text(); {
			case strings.HasSuffix(name, ".jsonl"):
				require.NoError(t, json.Unmarshal([]byte(line), &entry))
				lines = append(lines, entry.Line)
			case strings.HasPrefix(line, "\t"):
				lines[len(lines)-1] += "\n" + line[1:]
			case line != "" && !strings.HasPrefix(line, "#"):
				lines = append(lines, line)
			}
		}
		require.NoError(t, scan.Err())
	}
	require.Greater(t, len(lines), 1000)
	return lines
}

// FD-03: the decisions of the guard equal those of policy check, in a session that
// confines no command, on all corpora, in each mode, for trusted, undecided and
// untrusted directories, and for calls of file tools.
func TestGuardDecidesAsPolicyCheck(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	rules, err := os.ReadFile(filepath.Join(root, "core", "policy", "testdata", "policy.toml"))
	require.NoError(t, err)
	for _, settings := range []string{filepath.Join(home, ".fettle"), filepath.Join(dir, ".fettle")} {
		require.NoError(t, os.MkdirAll(settings, 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "policies.toml"), rules, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".fettle", "policies.toml"), []byte(`
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["zig build", "just"]
decision = "allow"
priority = 100

[[rule]]
toolName = ["write_file", "edit"]
argsPattern = 'generated'
decision = "deny"
priority = 100
`), 0o600))
	require.NoError(t, os.Symlink("/etc", filepath.Join(dir, "outside")))
	type call struct{ tool, args string }
	var calls []call
	for _, line := range append(corpora(t), "zig build", "just x && git status") {
		args, err := json.Marshal(map[string]string{"command": line})
		require.NoError(t, err)
		calls = append(calls, call{"run_shell_command", string(args)})
	}
	for _, path := range []string{"a.txt", dir + "/a.txt", "generated/x.go", ".git/config", ".fettle/policies.toml", "../x", "/etc/passwd", "outside/passwd", "AGENTS.md", ".env", home + "/.fettle/policies.toml"} {
		args, err := json.Marshal(map[string]string{"file_path": path, "content": "", "old_string": "", "new_string": ""})
		require.NoError(t, err)
		for _, tool := range []string{"read_file", "write_file", "edit", "safe_patch"} {
			calls = append(calls, call{tool, string(args)})
		}
	}
	calls = append(calls, call{"web_fetch", `{"url":"https://example.com"}`}, call{"unknown", `{}`}, call{"mcp_a_b", `{"x":1}`}, call{"invoke_agent", `{"agent_name":"x"}`})

	for state, word := range map[trust.State]string{trust.Trusted: "true", trust.Untrusted: "false", trust.Undecided: ""} {
		t.Setenv("FETTLE_TRUST_WORKSPACE", word)
		c, err := config.New(config.Parameters{TargetDir: dir, Policy: config.Policy{Trust: state}})
		require.NoError(t, err)
		require.NoError(t, c.Initialize(t.Context()))
		check, err := c.Scheduler()
		require.NoError(t, err)
		guard, err := decide.Open(t.Context(), decide.Options{Dir: dir})
		require.NoError(t, err)
		modes := policy.Modes()
		if os.Getenv("FETTLE_FULL") == "" {
			modes = []policy.ApprovalMode{policy.ModeDefault, policy.ModePlan, policy.ModeYolo}
		}
		for _, mode := range modes {
			for i, one := range calls {
				if os.Getenv("FETTLE_FULL") == "" && mode != policy.ModeDefault && i%7 > 0 {
					continue
				}
				headless := i%5 == 0
				want, err := check.Explain(t.Context(), scheduler.Request{Tool: one.tool, Args: json.RawMessage(one.args)}, scheduler.Situation{Mode: &mode, Headless: &headless})
				require.NoError(t, err)
				got, err := guard.Decide(t.Context(), decide.Call{Tool: one.tool, Args: json.RawMessage(one.args), Mode: mode, Headless: headless})
				require.NoError(t, err)
				if want.Previews { // the agent would not preview it, but run it
					require.Equal(t, policy.Deny, got.Decision, "%s %s", mode, one)
					continue
				}
				if elsewhere := strings.Contains(one.args, `"../x"`) || strings.Contains(one.args, "/passwd") || strings.Contains(one.args, home); elsewhere &&
					want.Decision == policy.Allow && one.tool != "read_file" && one.tool != "run_shell_command" && mode != policy.ModeYolo {
					want.Decision = policy.AskUser // fettle refuses it, and an agent would not
				}
				require.Equal(t, want.Decision, got.Decision, "%s, trust %q: %s: %s / %s", mode, word, one, want.Reason, got.Reason)
			}
		}
		require.NoError(t, guard.Close())
		require.NoError(t, c.Close())
	}
}

// FD-03: the answers of the hooks have the decisions of policy check, for each client, on
// the command lines of all corpora and on calls of file tools. Without --grant nothing is
// allowed.
func TestGuardHooksAnswerAsPolicyCheck(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, name := range []string{"CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR"} {
		t.Setenv(name, "")
	}
	rules, err := os.ReadFile(filepath.Join(root, "core", "policy", "testdata", "policy.toml"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".fettle"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "policies.toml"), rules, 0o600))
	c, err := config.New(config.Parameters{TargetDir: dir})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	check, err := c.Scheduler()
	require.NoError(t, err)

	const deny, ask, allow = `deny"`, `ask"`, `allow"`
	clients := []struct {
		name, event, shell, write, read string
		ask                             string // the answer for a question
		before                          string // of the decision in an answer
	}{
		{"claude", "PreToolUse", "Bash", "Write", "Read", ask, `"permissionDecision":"`},
		{"codex", "PreToolUse", "shell_command", "Write", "Read", deny, `"permissionDecision":"`},
		{"gemini", "BeforeTool", "run_shell_command", "write_file", "read_file", ask, `"decision":"`},
		{"cursor", "preToolUse", "Shell", "Write", "Read", deny, `"permission":"`},
	}
	answer := func(request map[string]any, args ...string) string {
		t.Helper()
		text, err := json.Marshal(request)
		require.NoError(t, err)
		var out, errs bytes.Buffer
		code := hook.Command().Run(t.Context(), guard.Streams{In: bytes.NewReader(text), Out: &out, Err: &errs}, args)
		require.Zero(t, code, "%s: %s", text, errs.String())
		return out.String()
	}
	// compare checks the answers of a client to one call, which policy check knows as tool.
	compare := func(client int, tool string, args map[string]string, request map[string]any, question string) {
		t.Helper()
		cl := clients[client]
		text, err := json.Marshal(args)
		require.NoError(t, err)
		want, err := check.Explain(t.Context(), scheduler.Request{Tool: tool, Args: text}, scheduler.Situation{})
		require.NoError(t, err)
		silent, granted := answer(request, "--client", cl.name), answer(request, "--client", cl.name, "--grant")
		require.NotContains(t, silent, cl.before+allow, "%v", request)
		switch want.Decision {
		case policy.Allow:
			require.Contains(t, []string{"", "{}\n"}, silent, "%s %v", cl.name, request)
			switch path := args["file_path"]; {
			case strings.HasPrefix(path, "/") && !strings.HasPrefix(path, dir): // fettle refuses it, and an agent would not
				require.Contains(t, granted, cl.before+question, "%v", request)
			case cl.name != "codex": // its PreToolUse cannot allow
				require.Contains(t, granted, cl.before+allow, "%v", request)
			}
			return
		case policy.Deny:
			question = deny
		}
		require.Contains(t, silent, cl.before+question, "%s %v: %s", cl.name, request, want.Reason)
		require.Contains(t, granted, cl.before+question, "%s %v: %s", cl.name, request, want.Reason)
	}
	for i, line := range corpora(t) {
		if os.Getenv("FETTLE_FULL") == "" && i%17 > 0 || line == "" {
			continue
		}
		args := map[string]string{"command": line}
		for k, cl := range clients {
			compare(k, "run_shell_command", args, map[string]any{"hook_event_name": cl.event, "tool_name": cl.shell, "tool_input": args, "cwd": dir}, cl.ask)
		}
		compare(3, "run_shell_command", args, map[string]any{"hook_event_name": "beforeShellExecution", "command": line, "cwd": dir}, ask)
	}
	for _, path := range []string{"a.txt", dir + "/a.txt", ".git/config", ".fettle/policies.toml", "/etc/passwd", "AGENTS.md", home + "/.fettle/policies.toml"} {
		for k, cl := range clients {
			args := map[string]string{"file_path": path, "content": "x"}
			compare(k, "write_file", args, map[string]any{"hook_event_name": cl.event, "tool_name": cl.write, "tool_input": args, "cwd": dir}, cl.ask)
			args = map[string]string{"file_path": path}
			compare(k, "read_file", args, map[string]any{"hook_event_name": cl.event, "tool_name": cl.read, "tool_input": args, "cwd": dir}, cl.ask)
		}
		compare(3, "read_file", map[string]string{"file_path": path}, map[string]any{"hook_event_name": "beforeReadFile", "file_path": path, "cwd": dir}, deny)
	}
	for k, cl := range clients {
		compare(k, "teleport", nil, map[string]any{"hook_event_name": cl.event, "tool_name": "teleport", "tool_input": map[string]string{}, "cwd": dir}, cl.ask)
	}
}

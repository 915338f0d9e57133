package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/escape"
)

// steering contains terminal control characters and invisible characters that may
// occur in names, texts and arguments.
const steering = "\x07\x1b[2J\x7f\u0080\u0085\u009b31m\u009d0;x\u009c\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2060\u2066\u2069\u3164\ufeff\U000e0041x\u200dy\ufe0f"

// No output of the program controls a terminal or hides text from the reader,
// whatever names, contents, commands and messages contain; JSON keeps its values.
func TestNothingSteersTheTerminal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such names")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	home := t.TempDir()
	name := "a" + steering + "b.txt"
	quoted := func(s string) string {
		raw, err := json.Marshal(s)
		require.NoError(t, err)
		return string(raw)
	}
	write := func(base, path, content string) {
		t.Helper()
		path = filepath.Join(base, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	write(dir, name, "text "+steering+"\n")
	write(home, ".fettle/settings.json", `{"mcpServers": {`+quoted("s"+steering)+`: {"command": "no-such-program"}, "gone": {"command": `+quoted("no"+steering)+`}},
		"unknown": 1, `+quoted("key"+steering)+`: 2, "tools": {"discoveryCommand": "cat declared.json", "callCommand": "echo"}, "context": {"fileName": `+quoted("x"+steering)+`}}`)
	write(dir, "declared.json", `[{"name": "odd", "description": `+quoted("Says "+steering+". More")+`, "parameters": {"type": "object", "properties": {`+quoted("p"+steering)+`: {"type": "string", "description": `+quoted("d"+steering)+`}}}}]`)
	write(home, ".fettle/skills/odd/SKILL.md", "---\nname: odd\ndescription: "+quoted("Does "+steering)+"\n---\nBody "+steering+"\n")
	write(home, ".fettle/agents/odd.md", "---\nname: odd\ndescription: "+quoted("Does "+steering)+"\n---\nPrompt "+steering+"\n")
	write(home, ".fettle/policies.toml", "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"odd \u202e\u009b\"\ndecision = \"deny\"\npriority = 10\ndenyMessage = \"no \u009b31m\u202e\"\n")
	script := `{"turns": [{"text": ` + quoted("I say "+steering) + `}]}`
	write(dir, "script.json", script)

	run := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "fettle", args...)
		cmd.Dir, cmd.Env, cmd.Stdin = dir, append(append(os.Environ(), "HOME="+home), brief...), strings.NewReader(stdin)
		var out, bad bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &bad
		_ = cmd.Run() // many of them are rejected
		for stream, text := range map[string]string{"stdout": out.String(), "stderr": bad.String()} {
			require.True(t, utf8.ValidString(text), "%q: %s %q", args, stream, text)
			if i := strings.IndexFunc(text, escape.Obeyed); i >= 0 {
				r, _ := utf8.DecodeRuneInString(text[i:])
				t.Errorf("fettle %q: %s has %U in %.200q", args, stream, r, text[max(i-60, 0):])
			}
			require.NotContains(t, text, "x\u200dy", "%q: %s", args, stream)
		}
		return out.String()
	}
	call := func(tool string, args map[string]any, flags ...string) map[string]any {
		t.Helper()
		raw, err := json.Marshal(args)
		require.NoError(t, err)
		var answer map[string]any
		require.NoError(t, json.Unmarshal([]byte(run("", append(flags, "call", tool, string(raw))...)), &answer))
		return answer
	}

	got := call("read_file", map[string]any{"file_path": name})
	require.Equal(t, "text "+steering+"\n", got["result"].(map[string]any)["content"])
	require.Equal(t, filepath.Join(dir, name), got["result"].(map[string]any)["file_path"])
	call("read_file", map[string]any{"file_path": "none" + steering})
	call("no"+steering, map[string]any{"a" + steering: steering})
	call("write_file", map[string]any{"file_path": "new" + steering, "content": steering})
	call("run_shell_command", map[string]any{"command": "printf '%s' '" + steering + "'"})
	call("run_shell_command", map[string]any{"command": "printf '%s' '" + steering + "'"}, "--approval-mode", "yolo")
	batch := func(mode string, calls ...any) {
		t.Helper()
		var lines strings.Builder
		for i := 0; i < len(calls); i += 2 {
			raw, err := json.Marshal(map[string]any{"tool": calls[i], "args": calls[i+1]})
			require.NoError(t, err)
			lines.Write(append(raw, '\n'))
		}
		require.Len(t, strings.Split(run(lines.String(), "--approval-mode", mode, "call", "--batch"), "\n"), len(calls)/2+1)
	}
	batch("default",
		"read_file", map[string]any{"file_path": "/etc/" + steering},
		"list_directory", map[string]any{"dir_path": "."},
		"glob", map[string]any{"pattern": "*" + steering + "*"},
		"search_file_content", map[string]any{"pattern": "text"},
		"search_file_content", map[string]any{"pattern": "(" + steering},
		"run_shell_command", map[string]any{"command": "odd \u202e\u009b"},
		"run_shell_command", map[string]any{"command": "true", "description": steering, "dir_path": steering},
		"read_file", map[string]any{"a" + steering: steering},
		"web_fetch", map[string]any{"url": "http://" + steering + "/"},
	)
	batch("auto_edit",
		"write_file", map[string]any{"file_path": "new" + steering, "content": steering},
		"safe_patch", map[string]any{"file_path": name, "unified_diff": "@@ " + steering, "base_content_sha256": strings.Repeat("0", 64)},
	)
	run("{\"tool\": \"read_file\", \"args\": {\"file_path\": "+quoted(name)+"}}\nbad "+steering+"\n", "call", "--batch")
	run("", "call", "read_file", "{"+steering)
	for _, tool := range []string{"run_shell_command", "read_file", "no" + steering, "mcp_s_" + steering} {
		run("", "policy", "check", tool, `{"command": `+quoted("ls "+steering+" && odd \u202e\u009b")+`, "file_path": `+quoted(name)+`}`)
	}
	run("bad "+steering+"\n", "policy", "check", "--batch")
	run("", "--policy", "none"+steering, "policy", "list")
	for _, args := range [][]string{
		{"tools"}, {"tools", "discovered_tool_odd"}, {"tools", "no" + steering}, {"mcp", "list"}, {"mcp", "test", "gone"}, {"mcp", "test", "no" + steering},
		{"policy", "list"}, {"skills", "list"}, {"skills", "show", "odd"}, {"skills", "show", "no" + steering}, {"agents", "list"}, {"agents", "show", "odd"},
		{"agents", "show", "no" + steering}, {"config", "show"}, {"config", "show", "mcpServers"}, {"config", "show", "no" + steering}, {"config", "validate"}, {"config", "path"},
		{"sessions", "show", "no" + steering}, {"sessions", "list"}, {"hooks", "list"}, {"trust", "list"}, {"trust", "no" + steering}, {"extensions", "list"},
		{"extensions", "validate", "no" + steering}, {"restore"}, {"restore", "no" + steering},
	} {
		run("", args...)
		run("", append(args, "--json")...)
	}
	run("", "no"+steering)
	run("", "--no"+steering)
	run("", "--cwd", "no"+steering, "tools")
	run("", "--settings", "no"+steering, "tools")
	run("", "-m", "no"+steering, "-p", "hi")
	for _, format := range []string{"json", "stream-json"} {
		run("", "-m", "script:script.json", "--session-id", "s-"+format, "--output-format", format, "-p", "Say @"+name+" "+steering)
	}
	run("", "sessions", "list")
	run("", "sessions", "list", "--json")
	run("", "sessions", "show", "s-json")
	run("", "sessions", "show", "s-json", "--json")
}

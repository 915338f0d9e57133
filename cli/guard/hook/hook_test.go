package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/guard"
)

const rules = `
[[rule]]
toolName = "run_shell_command"
commandPrefix = "npm test"
decision = "allow"
priority = 100

[[rule]]
toolName = "run_shell_command"
commandPrefix = "git push"
decision = "deny"
priority = 200
denyMessage = "Only users push."

[[rule]]
toolName = ["read_file", "edit", "safe_patch", "apply_patch", "write_file"]
argsPattern = '\.env"'
decision = "deny"
priority = 300

[[rule]]
mcpName = "github"
toolName = "create_issue"
decision = "allow"
priority = 100
`

// project creates a project and a home directory with rules, and returns the project.
func project(t *testing.T) string {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, name := range []string{"CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR"} {
		t.Setenv(name, "")
	}
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".fettle"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "policies.toml"), []byte(rules), 0o600))
	return dir
}

// hook runs the command with a request.
func hook(t *testing.T, request string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), guard.Streams{In: strings.NewReader(request), Out: &stdout, Err: &stderr}, args, answer)
	return code, stdout.String(), stderr.String()
}

// FD-03: the documented requests of each client get the answers that it documents. A
// permission is silence, unless --grant is given.
func TestClients(t *testing.T) {
	dir := project(t)
	claude := func(decision string) string { return `"permissionDecision":"` + decision + `"` }
	for _, tt := range []struct{ sample, answer, granted string }{
		{"claude-bash", "", claude("allow")},
		{"claude-write", claude("ask"), claude("ask")},
		{"claude-read", claude("deny"), claude("deny")},
		{"claude-mcp", "", claude("allow")},
		{"claude-permission", `"decision":{"behavior":"deny","message":"fettle: Only users push.`, `"behavior":"deny"`},
		{"codex-bash", claude("deny"), claude("deny")},
		{"codex-patch", claude("deny"), claude("deny")},
		{"gemini-shell", "{}", `"decision":"allow"`},
		{"gemini-mcp", "{}", `"decision":"allow"`},
		{"cursor-shell", "{}", `{"permission":"allow"}`},
		{"cursor-mcp", `"permission":"ask"`, `"permission":"ask"`}, // not the built-in tool of that name
		{"cursor-read", `"permission":"deny"`, `"permission":"deny"`},
		{"cursor-edited", "{}", "{}"},
	} {
		t.Run(tt.sample, func(t *testing.T) {
			client, _, _ := strings.Cut(tt.sample, "-")
			text, err := os.ReadFile(filepath.Join("testdata", tt.sample+".json"))
			require.NoError(t, err)
			request := strings.ReplaceAll(string(text), "$PROJECT", filepath.ToSlash(dir))
			for want, args := range map[string][]string{tt.answer: {"--client", client}, tt.granted: {"--client=" + client, "--grant"}} {
				if tt.answer == tt.granted {
					args = []string{"--client", client, "--grant"}
				}
				code, out, errs := hook(t, request, args...)
				require.Zero(t, code, errs)
				require.Empty(t, errs)
				require.Contains(t, out, want)
				require.True(t, want != "" || out == "", out)
				require.True(t, out == "" || json.Valid([]byte(out)), out)
			}
		})
	}
}

// FD-03: where a client cannot ask, a question is a denial; so it is with --no-ask and
// without an approver. In a client's plan mode no change is made.
func TestQuestions(t *testing.T) {
	dir := project(t)
	request := func(event, tool, mode string) string {
		text, err := json.Marshal(map[string]any{"hook_event_name": event, "tool_name": tool, "cwd": dir, "permission_mode": mode,
			"tool_input": map[string]any{"command": "make", "file_path": "a.txt", "content": ""}})
		require.NoError(t, err)
		return string(text)
	}
	for name, tt := range map[string]struct {
		request string
		args    []string
		want    string
	}{
		"claude":              {request("PreToolUse", "Bash", "default"), []string{"--client=claude"}, `"permissionDecision":"ask"`},
		"bypassed":            {request("PreToolUse", "Bash", "bypassPermissions"), []string{"--client=claude", "--grant"}, `"permissionDecision":"ask"`},
		"accepted edits":      {request("PreToolUse", "Write", "acceptEdits"), []string{"--client=claude", "--grant"}, `"permissionDecision":"ask"`},
		"auto_edit":           {request("PreToolUse", "Write", "default"), []string{"--client=claude", "--grant", "--approval-mode=auto_edit"}, `"permissionDecision":"allow"`},
		"plan":                {request("PreToolUse", "Write", "plan"), []string{"--client=claude", "--approval-mode=yolo"}, `"permissionDecision":"deny"`},
		"codex":               {request("PreToolUse", "Bash", "default"), []string{"--client=codex"}, `"permissionDecision":"deny"`},
		"asked already":       {request("PermissionRequest", "Bash", "default"), []string{"--client=claude"}, ""},
		"no-ask":              {request("PreToolUse", "Bash", "default"), []string{"--client=claude", "--no-ask"}, `"permissionDecision":"deny"`},
		"headless":            {request("BeforeTool", "run_shell_command", ""), []string{"--client=gemini", "--headless"}, `"decision":"deny"`},
		"gemini":              {request("BeforeTool", "run_shell_command", ""), []string{"--client=gemini"}, `"decision":"ask"`},
		"unknown tool":        {request("PreToolUse", "Teleport", "default"), []string{"--client=claude", "--grant"}, `"permissionDecision":"ask"`},
		"cursor's preToolUse": {request("preToolUse", "Shell", ""), []string{"--client=cursor"}, `"permission":"deny"`},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := hook(t, tt.request, tt.args...)
			require.Zero(t, code, errs)
			require.Contains(t, out, tt.want)
			require.True(t, tt.want != "" || out == "", out)
		})
	}
}

// FD-03: outside of the project only rules of files allow changes. With --grant the same applies to reads.
func TestElsewhere(t *testing.T) {
	dir, other := project(t), t.TempDir()
	require.NoError(t, os.Symlink(other, filepath.Join(dir, "link")))
	for _, tt := range []struct {
		tool, key, path string
		args            []string
		want            string
	}{
		{"Write", "file_path", "a.txt", []string{"--approval-mode=auto_edit"}, ""},
		{"Write", "file_path", filepath.Join(dir, "sub", "a.txt"), []string{"--approval-mode=auto_edit", "--grant"}, "allow"},
		{"Write", "file_path", filepath.Join(other, "a.txt"), []string{"--approval-mode=auto_edit"}, "ask"},
		{"Edit", "file_path", filepath.Join("..", "a.txt"), []string{"--approval-mode=auto_edit", "--grant"}, "ask"},
		{"NotebookEdit", "notebook_path", filepath.Join("link", "a.ipynb"), []string{"--approval-mode=auto_edit", "--grant"}, "ask"},
		{"Read", "file_path", "a.txt", []string{"--grant"}, "allow"},
		{"Read", "file_path", filepath.Join(other, "a.txt"), nil, ""},
		{"Read", "file_path", filepath.Join(other, "a.txt"), []string{"--grant"}, "ask"},
		{"Grep", "path", other, []string{"--grant"}, "ask"},
		{"Glob", "pattern", filepath.Join(other, "*"), []string{"--grant"}, "ask"},
		{"Glob", "pattern", "{" + other + ",x}/*", []string{"--grant"}, "ask"},
		{"Glob", "pattern", "**/*.{go,md}", []string{"--grant"}, "allow"},
		{"Read", "file_path", "~/.ssh/id_rsa", []string{"--grant"}, "ask"},
		{"str_replace_based_edit_tool", "path", filepath.Join(other, "a.txt"), []string{"--approval-mode=auto_edit"}, "ask"},
	} {
		request, err := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "tool_name": tt.tool, "cwd": dir, "tool_input": map[string]any{tt.key: tt.path, "content": ""}})
		require.NoError(t, err)
		code, out, errs := hook(t, string(request), append([]string{"--client=claude"}, tt.args...)...)
		require.Zero(t, code, errs)
		if tt.want == "" {
			require.Empty(t, out, tt)
			continue
		}
		require.Contains(t, out, `"permissionDecision":"`+tt.want+`"`, tt)
	}
}

// FD-03: a truncated request, and one with a field of another type, blocks the call, in
// each client's form. Nothing is allowed.
func TestDamagedRequestsBlock(t *testing.T) {
	dir := project(t)
	samples, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, samples)
	for _, sample := range samples {
		client, _, _ := strings.Cut(filepath.Base(sample), "-")
		text, err := os.ReadFile(sample)
		require.NoError(t, err)
		request := strings.TrimSpace(strings.ReplaceAll(string(text), "$PROJECT", filepath.ToSlash(dir)))
		blocks := func(damaged string) {
			t.Helper()
			code, out, errs := hook(t, damaged, "--client", client, "--grant")
			require.Equal(t, guard.ExitBlocked, code, "%s: %s", sample, damaged)
			require.Contains(t, errs, "fettle-guard denies the call")
			require.Equal(t, client == "cursor", strings.Contains(out, `"permission":"deny"`), out)
			require.NotContains(t, out, "allow")
		}
		for n := range len(request) {
			blocks(request[:n])
		}
		blocks(request + "}")
		blocks(request + request)
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(request), &fields))
		for _, name := range []string{"hook_event_name", "tool_name", "tool_input", "cwd", "permission_mode", "workspace_roots", "mcp_context", "command", "file_path"} {
			for _, wrong := range []any{7, []any{map[string]any{}}} {
				damaged := maps.Clone(fields)
				damaged[name] = wrong
				text, err := json.Marshal(damaged)
				require.NoError(t, err)
				if strings.Contains(sample, "edited") && name == "tool_input" {
					continue // nothing is decided after an edit, so its arguments are not read
				}
				if _, used := fields[name]; !used && name == "tool_input" {
					continue // the event has its arguments in other fields
				}
				blocks(string(text))
			}
		}
	}
}

// FD-03: arguments with two values for the same thing block the call: the client may use
// the other one. Equal values are one.
func TestTwoNamesOfAnArgument(t *testing.T) {
	for name, c := range clients() {
		for toolName, tool := range c.tools {
			for from, to := range tool.keys {
				r := request{Tool: toolName, Cwd: "/p", Input: encode(map[string]any{from: "one", to: "two", "command": "ls"})}
				if to == "command" {
					r.Input = encode(map[string]any{from: "one", to: "two"})
				}
				_, err := c.calls(&r, toolCall, "/p")
				require.ErrorContains(t, err, "two values of "+to, "%s %s %s", name, toolName, from)
			}
		}
	}
	r := request{Tool: "exec_command", Cwd: "/p", Input: json.RawMessage(`{"cmd":"ls","command":"ls"}`)}
	calls, err := clients()["codex"].calls(&r, toolCall, "/p")
	require.NoError(t, err)
	require.JSONEq(t, `{"command":"ls"}`, string(calls[0].Args))
}

// failing is a stream that fails.
type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, os.ErrClosed }
func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

// FD-03: whatever fails blocks the call, in the client's form: exit code 2 and a reason
// on stderr, and for Cursor also the object on stdout.
func TestFailuresBlock(t *testing.T) {
	dir := project(t)
	valid := `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"npm test"},"cwd":"` + filepath.ToSlash(dir) + `"}`
	for name, tt := range map[string]struct {
		in   string
		args []string
	}{
		"nothing":           {"", nil},
		"garbage":           {"\x00\xff{", nil},
		"another value":     {`[1]`, nil},
		"another event":     {`{"hook_event_name":"Stop"}`, nil},
		"no tool":           {`{"hook_event_name":"PreToolUse"}`, nil},
		"arguments":         {strings.Replace(valid, `{"command":"npm test"}`, `["x"]`, 1), nil},
		"no command":        {strings.Replace(valid, `{"command":"npm test"}`, `{}`, 1), nil},
		"no directory":      {strings.Replace(valid, `"cwd":"`, `"cwd":"/nowhere`, 1), nil},
		"huge":              {strings.Repeat(" ", maxRequest) + valid, nil},
		"unknown flag":      {valid, []string{"--yes"}},
		"unknown mode":      {valid, []string{"--approval-mode", "x"}},
		"missing policy":    {valid, []string{"--policy", dir + "/none.toml"}},
		"no duration":       {valid, []string{"--timeout", "0s"}},
		"further arguments": {valid, []string{"x"}},
	} {
		for client := range clients() {
			t.Run(name+" "+client, func(t *testing.T) {
				code, out, errs := hook(t, tt.in, append([]string{"--client", client}, tt.args...)...)
				require.Equal(t, guard.ExitBlocked, code)
				require.Contains(t, errs, "fettle-guard denies the call")
				require.Equal(t, client == "cursor", strings.Contains(out, `"permission":"deny"`), out)
			})
		}
	}
	for event, c := range map[string]string{"PreToolUse": "claude", "BeforeTool": "gemini", "preToolUse": "cursor"} { // events that the clients have
		for want, twice := range map[string][2]string{
			`"tool_name" occurs twice`: {`"Bash"`, `"Bash","tool_name":"Read"`}, `"Tool_name" differ only`: {`"Bash"`, `"Bash","Tool_name":"Read"`},
			`"command" occurs twice`: {`{"command"`, `{"command":"rm x","command"`}, `"command" differ only`: {`{"command"`, `{"Command":"rm x","command"`},
			`the arguments of "Bash": the key "command" occurs twice`: {`{"command":"npm test"}`, `"{\"command\":\"rm x\",\"command\":\"npm test\"}"`},
			`the arguments of "Bash": they are not an object`:         {`{"command":"npm test"}`, `"{\"command\":\"npm test\"} {}"`},
		} {
			request := strings.Replace(strings.Replace(valid, "PreToolUse", event, 1), twice[0], twice[1], 1)
			code, _, errs := hook(t, request, "--client", c)
			require.Equal(t, guard.ExitBlocked, code, request)
			require.Contains(t, errs, want)
		}
	}
	code, _, errs := hook(t, valid)
	require.Equal(t, guard.ExitBlocked, code, "no client")
	require.Contains(t, errs, "--client")

	t.Setenv("FETTLE_TRUST_WORKSPACE", "perhaps")
	code, _, errs = hook(t, valid, "--client=claude")
	require.Equal(t, guard.ExitBlocked, code)
	require.Contains(t, errs, "FETTLE_TRUST_WORKSPACE")
}

// FD-03: a panic, the time limit and closed streams block the call.
func TestBrokenRunsBlock(t *testing.T) {
	claude := []string{"--client", "claude"}
	start := func(in io.Reader, out io.Writer, answer func(context.Context, *options, *client, []byte) (any, error), more ...string) (int, string) {
		var stderr bytes.Buffer
		code := run(t.Context(), guard.Streams{In: in, Out: out, Err: &stderr}, append(slices.Clip(claude), more...), answer)
		return code, stderr.String()
	}
	code, errs := start(strings.NewReader("{}"), io.Discard, func(context.Context, *options, *client, []byte) (any, error) { panic("lost") })
	require.Equal(t, guard.ExitBlocked, code)
	require.Contains(t, errs, "internal error: lost")

	code, errs = start(failing{}, io.Discard, answer)
	require.Equal(t, guard.ExitBlocked, code)
	require.Contains(t, errs, "read the request")

	said := func(context.Context, *options, *client, []byte) (any, error) { return struct{}{}, nil }
	code, errs = start(strings.NewReader("{}"), failing{}, said)
	require.Equal(t, guard.ExitBlocked, code)
	require.Contains(t, errs, "write the answer")

	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a closed stdout
	require.NoError(t, err)
	code, errs = start(strings.NewReader("{}"), null, said)
	require.NoError(t, null.Close())
	require.Equal(t, guard.ExitBlocked, code)
	require.Contains(t, errs, "stdout is closed")

	code, errs = start(strings.NewReader("{}"), io.Discard, func(ctx context.Context, _ *options, _ *client, _ []byte) (any, error) {
		<-ctx.Done() // an answer after the limit
		return struct{}{}, nil
	}, "--timeout", "1ms")
	require.Equal(t, guard.ExitBlocked, code)
	require.Contains(t, errs, "no decision within 1ms")

	synctest.Test(t, func(t *testing.T) { // a client that never ends its request
		in, end := io.Pipe()
		begun := time.Now()
		code, errs = start(in, io.Discard, answer)
		require.Equal(t, guard.ExitBlocked, code)
		require.Contains(t, errs, "no decision within 5s")
		require.Equal(t, 5*time.Second, time.Since(begun))
		require.NoError(t, end.CloseWithError(errors.New("over")))
	})
}

// FD-03: names and arguments of a client's tools become fettle's.
func TestCalls(t *testing.T) {
	dir := filepath.FromSlash("/p")
	for name, tt := range map[string]struct {
		client string
		r      request
		want   []string // tools and arguments
	}{
		"a command elsewhere": {"claude", request{Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`), Cwd: "/p/sub"}, []string{`run_shell_command {"command":"ls","dir_path":"/p/sub"}`}},
		"words":               {"codex", request{Tool: "shell", Input: json.RawMessage(`{"command":["git","log","a b"],"workdir":"x"}`), Cwd: "/p"}, []string{`run_shell_command {"command":"git log 'a b'","dir_path":"x"}`}},
		"a script":            {"codex", request{Tool: "shell", Input: json.RawMessage(`{"command":["bash","-lc","rm x"]}`), Cwd: "/p"}, []string{`run_shell_command {"command":"rm x"}`}},
		"a notebook":          {"claude", request{Tool: "NotebookEdit", Input: json.RawMessage(`{"notebook_path":"/p/a.ipynb"}`), Cwd: "/p"}, []string{`edit {"file_path":"/p/a.ipynb"}`}},
		"an agent":            {"claude", request{Tool: "Task", Input: json.RawMessage(`{"subagent_type":"x"}`), Cwd: "/p"}, []string{`invoke_agent {"agent_name":"x"}`}},
		"a patch": {"codex", request{Tool: "apply_patch", Input: json.RawMessage(`{"input":"*** Add File: a\n*** Update File: b\n*** Move to: c"}`), Cwd: "/p"}, []string{
			`apply_patch {"file_path":"/p/a","input":"*** Add File: a\n*** Update File: b\n*** Move to: c"}`, `apply_patch {"file_path":"/p/b",`, `apply_patch {"file_path":"/p/c",`,
		}},
		"a server":          {"claude", request{Tool: "mcp__a__b", Input: json.RawMessage(`{"n":9007199254740993}`)}, []string{`mcp_a_b {"n":9007199254740993} of a b`}},
		"an unclear server": {"claude", request{Tool: "mcp__a__b__c"}, []string{`mcp_a_b__c  of  `}},
		"Cursor's server":   {"cursor", request{Tool: "MCP:a:b", Input: json.RawMessage(`"{\"x\":1}"`)}, []string{`mcp_a_b {"x":1} of a b`}},
	} {
		t.Run(name, func(t *testing.T) {
			calls, err := clients()[tt.client].calls(&tt.r, toolCall, dir)
			require.NoError(t, err)
			require.Len(t, calls, len(tt.want))
			for i, c := range calls {
				text := c.Tool + " " + string(c.Args)
				if strings.HasPrefix(c.Tool, "mcp_") {
					text += " of " + c.Server + " " + c.ServerTool
				}
				require.True(t, strings.HasPrefix(text, tt.want[i]), text)
			}
		})
	}
}

package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func program(mode string) func(context.Context, Options, io.Reader, io.Writer) error {
	return func(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
		return RunProgram(ctx, o, Program{
			Command: os.Args[0], Env: map[string]string{"GATEWAY_SERVER": mode, "GATEWAY_TOKEN": "hunter22"},
			Environ: append(os.Environ(), "GATEWAY_OTHER=other"), Stderr: o.Log,
		}, in, out)
	}
}

var all = []string{"*"}

// FD-03: the server is a process with a restricted environment, and does not
// survive the gateway.
func TestProgram(t *testing.T) {
	hide := func(s string) string { return strings.ReplaceAll(s, "hunter22", "[masked]") }
	p := connect(t, Options{Grants: all, Hide: hide}, program("stay"))
	p.send(toolCall(1, "echo", `{"a":1}`))
	require.Contains(t, p.line(), `{\"name\":\"echo\",\"arguments\":{\"a\":1}}`)
	require.NoError(t, p.end())
	require.Contains(t, p.log.String(), "ready [31m [masked]\n", "its stderr is passed on, without control characters and secrets")

	p = connect(t, Options{Grants: all}, program("talk"))
	p.send(toolCall(1, "pid", `{}`))
	r := p.message()["result"].(map[string]any)
	require.NotContains(t, r["env"], "GATEWAY_OTHER=other")
	require.Contains(t, r["env"], "FETTLE_MCP_SERVER=files")
	require.NoError(t, p.end())
	process, err := os.FindProcess(int(r["pid"].(float64)))
	require.NoError(t, err)
	require.Error(t, process.Signal(syscall.Signal(0)), "it has ended")
}

// A server that ends in a call fails this call and the gateway.
func TestServerDies(t *testing.T) {
	p := connect(t, Options{Grants: all}, program("talk"))
	p.send(toolCall(1, "echo", `{}`))
	p.line()
	p.send(toolCall(2, "die", `{}`))
	m := p.message()
	require.InDelta(t, 2, m["id"], 0)
	text := fmt.Sprint(m["error"])
	require.Contains(t, text, `The MCP server "files" is not available. Its program exited with status 3.`)
	require.Contains(t, text, "cannot go on")
	require.ErrorContains(t, p.ended(), "exited with status 3")
}

// A program that does not exist is an error with a remedy.
func TestNoProgram(t *testing.T) {
	for command, want := range map[string]string{"no-such-program": "on the PATH", filepath.Join(t.TempDir(), "x"): "There is no program"} {
		err := RunProgram(t.Context(), Options{Server: "x"}, Program{Command: command, Environ: os.Environ()}, strings.NewReader(""), io.Discard)
		require.ErrorContains(t, err, want)
	}
}

// Output of the server that is not a message is dropped, and logged harmlessly.
func TestJunk(t *testing.T) {
	p := connect(t, Options{Grants: all}, program("talk"))
	p.send(toolCall(1, "junk", `{}`))
	require.Contains(t, p.line(), `"id":1`)
	require.Contains(t, p.log.String(), "Listening on <U+001B>[1mport")
	require.NoError(t, p.end())
}

// Messages are bounded in both directions.
func TestLargeMessages(t *testing.T) {
	p := connect(t, Options{Grants: all, MaxMessage: 1 << 20}, program("talk"))
	p.send(toolCall(1, "echo", fmt.Sprintf(`{"x":%q}`, strings.Repeat("x", 2<<20))))
	require.Contains(t, p.line(), "larger than the limit")
	p.send(toolCall(2, "echo", fmt.Sprintf(`{"x":%q}`, strings.Repeat("x", 900<<10))))
	require.Len(t, p.message()["result"].(map[string]any)["content"].([]any)[0].(map[string]any)["text"], 900<<10+len(`{"name":"echo","arguments":{"x":""}}`))
	p.send(toolCall(3, "large", `{}`))
	require.Contains(t, p.line(), "larger than the limit of 1048576 bytes")
	require.Error(t, p.ended())
}

// FD-03: a thousand concurrent calls each receive their own answer.
func TestConcurrentCalls(t *testing.T) {
	const calls = 1000
	p := connect(t, Options{Grants: all, Record: io.Discard}, program("talk"))
	go func() {
		for i := range calls {
			_, _ = io.WriteString(p.in, toolCall(i, "echo", fmt.Sprintf(`{"n":%d}`, i))+"\n")
		}
	}()
	seen := map[float64]bool{}
	for range calls {
		m := p.message()
		id := m["id"].(float64)
		require.False(t, seen[id])
		seen[id] = true
		require.Contains(t, fmt.Sprint(m["result"]), fmt.Sprintf(`{"n":%v}`, id))
	}
	require.NoError(t, p.end())
}

// A client that has gone ends the server, even in a call and in a question.
func TestClientDies(t *testing.T) {
	p := connect(t, Options{}, program("stay"))
	p.initialize("2025-11-25", forms)
	p.send(toolCall(1, "echo", `{}`))
	require.Contains(t, p.line(), methodElicit)
	begun := time.Now()
	require.NoError(t, p.end())
	require.Less(t, time.Since(begun), patience)
}

// FD-03: the record has a line for each call, without secrets, in a private file.
func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	file, err := openRecord(path)
	require.NoError(t, err)
	f := newFake(echo)
	hide := func(s string) string { return strings.ReplaceAll(s, "hunter22", "[masked]") }
	p := connect(t, Options{Grants: []string{"read"}, Record: file, Hide: hide, MaskResults: true}, f.serve)
	p.initialize("2025-06-18", `{}`)
	p.send(toolCall(1, "read", `{"token":"hunter22"}`))
	require.Contains(t, p.line(), "[masked]", "the result is masked")
	require.Contains(t, f.next(t), "hunter22", "the call is not")
	p.send(toolCall(2, "wipe", `{}`))
	p.line()
	require.NoError(t, p.end())
	require.NoError(t, file.Close())
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "hunter22")
	var entries []map[string]any
	for line := range strings.Lines(string(raw)) {
		var e map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		entries = append(entries, e)
	}
	require.Len(t, entries, 2)
	require.Equal(t, []any{"files", "read", `{"token":"[masked]"}`, "allow", "answered"}, []any{entries[0]["server"], entries[0]["tool"], entries[0]["args"], entries[0]["decision"], entries[0]["end"]})
	require.Equal(t, []any{"wipe", "ask_user", "denied"}, []any{entries[1]["tool"], entries[1]["decision"], entries[1]["end"]})

	info, err := os.Stat(path)
	require.NoError(t, err)
	require.True(t, private(info))
	again, err := openRecord(path)
	require.NoError(t, err)
	require.NoError(t, again.Close())
	_, err = openRecord(t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
	require.NoError(t, os.Chmod(path, 0o644))
	if info, err := os.Stat(path); err == nil && !private(info) {
		_, err = openRecord(path)
		require.ErrorContains(t, err, "other users")
	}
}

// FD-03: deferred tools are listed by name, and described on request.
func TestDefer(t *testing.T) {
	f := newFake(func(m *message) string {
		if m.method == methodTools {
			return string(result(m.id, json.RawMessage(`{"tools":[
				{"name":"create_issue","description":"Opens a ticket\u200b","inputSchema":{"type":"object","properties":{"title":{"type":"string"}}}},
				{"name":"sh\u200bell","description":"x","inputSchema":{"type":"object"}},
				{"name":"listUsers","description":"All users of the issue tracker","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)))
		}
		return echo(m)
	})
	p := connect(t, Options{Grants: all, Defer: true}, f.serve)
	p.initialize("2025-06-18", `{}`)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	list := p.line()
	require.NotContains(t, list, "ticket")
	require.NotContains(t, list, "200B")
	var names []any
	for _, tool := range decoded(t, list)["result"].(map[string]any)["tools"].([]any) {
		names = append(names, tool.(map[string]any)["name"])
	}
	require.Equal(t, []any{"create_issue", "listUsers", "tool_search"}, names)
	f.next(t)
	search := func(args string) string {
		p.send(toolCall(2, "tool_search", args))
		return fmt.Sprint(p.message()["result"])
	}
	require.Contains(t, search(`{"names":["create_issue","gone"]}`), `"title":{"type":"string"}`)
	require.Contains(t, search(`{"names":["gone"]}`), `"unknown":["gone"]`)
	found := search(`{"query":"issue"}`)
	require.Less(t, strings.Index(found, "create_issue"), strings.Index(found, "listUsers"), "names weigh more")
	require.Contains(t, found, "ticket<U+200B>")
	require.NotContains(t, search(`{"query":"user"}`), "create_issue")
	require.Contains(t, search(`{}`), "needs a query")
	require.Empty(t, f.got, "the server is not asked")
	p.send(toolCall(3, "create_issue", `{"title":"x"}`))
	p.line()
	require.Contains(t, f.next(t), "create_issue")
}

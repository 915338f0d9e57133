package integration_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// acpEditor is an ACP client without the SDK: a process of fettle acp, and the messages
// of both sides as JSON.
type acpEditor struct {
	t     *testing.T
	dir   string // of the workspace
	home  string
	args  []string // of fettle acp
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.Closer
	ids   int
	seen  []map[string]any // messages of the agent, except for answers
	lines chan string      // from stdout; closed at its end
	// answer returns the result of a request of the agent; nil: none is sent.
	answer func(method string, params map[string]any) any
}

// acp starts fettle acp with a scripted model in a workspace with the file f.txt, and
// initializes it.
func acp(t *testing.T, turns string, args ...string) *acpEditor {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	e := &acpEditor{t: t, dir: dir, home: t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f.txt"), []byte("one\ntwo\nthree\n"), 0o644))
	script := filepath.Join(e.home, "turns.json")
	require.NoError(t, os.WriteFile(script, []byte(turns), 0o600))
	e.args = append([]string{"acp", "--model", "script:" + script}, args...)
	e.answer = func(string, map[string]any) any { return acpSelected("proceed_once") }
	e.start()
	return e
}

// start starts the program.
func (e *acpEditor) start() {
	e.t.Helper()
	e.cmd = exec.CommandContext(context.WithoutCancel(e.t.Context()), "fettle", e.args...)
	e.cmd.Dir = e.home
	e.cmd.Env = append(append(os.Environ(), "HOME="+e.home), brief...)
	var err error
	e.in, err = e.cmd.StdinPipe()
	require.NoError(e.t, err)
	out, err := e.cmd.StdoutPipe()
	require.NoError(e.t, err)
	e.out = out
	require.NoError(e.t, e.cmd.Start())
	lines, cmd := make(chan string, 10_000), e.cmd
	e.lines = lines
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(lines)
		scanner := bufio.NewScanner(out)
		scanner.Buffer(nil, 32<<20)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	})
	e.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		reading.Wait()
		_ = cmd.Wait()
	})
	e.request("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
}

// acpSelected is the answer to a permission request.
func acpSelected(option string) any {
	return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": option}}
}

// send sends a message.
func (e *acpEditor) send(message any) {
	e.t.Helper()
	data, err := json.Marshal(message)
	require.NoError(e.t, err)
	_, err = e.in.Write(append(data, '\n'))
	require.NoError(e.t, err)
}

// begin sends a request and returns its id.
func (e *acpEditor) begin(method string, params any) int {
	e.t.Helper()
	e.ids++
	e.send(map[string]any{"jsonrpc": "2.0", "id": e.ids, "method": method, "params": params})
	return e.ids
}

// next reads a message. Stdout carries nothing but messages.
func (e *acpEditor) next() map[string]any {
	e.t.Helper()
	select {
	case line, ok := <-e.lines:
		require.True(e.t, ok, "the agent has ended")
		var m map[string]any
		require.NoError(e.t, json.Unmarshal([]byte(line), &m), line)
		require.Equal(e.t, "2.0", m["jsonrpc"])
		return m
	case <-time.After(60 * time.Second):
		require.Fail(e.t, "no message")
		return nil
	}
}

// wait answers requests until the answer to one of the editor arrives.
func (e *acpEditor) wait(id int) map[string]any {
	e.t.Helper()
	for {
		m := e.next()
		if m["method"] == nil && m["id"] == float64(id) {
			return m
		}
		e.handle(m)
	}
}

// handle keeps a message, and answers it if it is a request.
func (e *acpEditor) handle(m map[string]any) {
	e.t.Helper()
	e.seen = append(e.seen, m)
	method, _ := m["method"].(string)
	params, _ := m["params"].(map[string]any)
	if m["id"] == nil || method == "" {
		return
	}
	if result := e.answer(method, params); result != nil {
		e.send(map[string]any{"jsonrpc": "2.0", "id": m["id"], "result": result})
	}
}

// until handles messages until one of them contains a text.
func (e *acpEditor) until(text string) {
	e.t.Helper()
	for {
		m := e.next()
		e.handle(m)
		if data, _ := json.Marshal(m); strings.Contains(string(data), text) {
			return
		}
	}
}

// request sends a request and returns its result.
func (e *acpEditor) request(method string, params any) map[string]any {
	e.t.Helper()
	m := e.wait(e.begin(method, params))
	require.Nil(e.t, m["error"], "%s: %v", method, m["error"])
	result, _ := m["result"].(map[string]any)
	return result
}

// fails sends a request and returns the message of its error.
func (e *acpEditor) fails(method string, params any) (code int, message string) {
	e.t.Helper()
	m := e.wait(e.begin(method, params))
	failure, ok := m["error"].(map[string]any)
	require.True(e.t, ok, "%s: %v", method, m)
	return int(failure["code"].(float64)), fmt.Sprint(failure["message"], failure["data"])
}

// open creates a session and returns its id.
func (e *acpEditor) open(servers ...any) string {
	e.t.Helper()
	return e.request("session/new", map[string]any{"cwd": e.dir, "mcpServers": append([]any{}, servers...)})["sessionId"].(string)
}

// acpPrompt returns the parameters of a prompt of text.
func acpPrompt(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// prompt sends a prompt and returns its stop reason.
func (e *acpEditor) prompt(session, text string) any {
	e.t.Helper()
	return e.request("session/prompt", acpPrompt(session, text))["stopReason"]
}

// said joins the messages of a kind, and forgets the messages so far.
func (e *acpEditor) said(kind string) string {
	var b strings.Builder
	for _, m := range e.seen {
		params, _ := m["params"].(map[string]any)
		update, _ := params["update"].(map[string]any)
		if content, ok := update["content"].(map[string]any); ok && update["sessionUpdate"] == kind {
			b.WriteString(content["text"].(string))
		}
	}
	return b.String()
}

// asked counts the permission requests.
func (e *acpEditor) asked() (n int) {
	for _, m := range e.seen {
		if m["method"] == "session/request_permission" {
			n++
		}
	}
	return n
}

func (e *acpEditor) file() string {
	data, err := os.ReadFile(filepath.Join(e.dir, "f.txt"))
	require.NoError(e.t, err)
	return string(data)
}

// cancel cancels the turn of a session.
func (e *acpEditor) cancel(session string) {
	e.send(map[string]any{"jsonrpc": "2.0", "method": "session/cancel", "params": map[string]any{"sessionId": session}})
}

const acpPatch = `{"turns": [
  {"calls": [{"tool": "read_file", "args": {"file_path": "f.txt"}}]},
  {"calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "{{sha256 \"f.txt\"}}", "unified_diff": "@@\n one\n-two\n+TWO\n"}}]},
  {"text": "Finished."}, {"text": "And again."}
]}`

// FD-02: a client without the SDK drives an edit, its approval and its refusal.
func TestACPEdit(t *testing.T) {
	t.Parallel()
	for option, want := range map[string]string{"proceed_once": "one\nTWO\nthree\n", "cancel": "one\ntwo\nthree\n"} {
		e := acp(t, acpPatch)
		e.answer = func(string, map[string]any) any { return acpSelected(option) }
		require.Equal(t, "end_turn", e.prompt(e.open(), "Make it loud."))
		require.Equal(t, want, e.file())
		require.Equal(t, 1, e.asked())
		require.Equal(t, "Finished.", e.said("agent_message_chunk"))
		require.NoError(t, e.in.Close())
		require.NoError(t, e.cmd.Wait(), "the end of stdin is the end of the program")
	}
}

// FD-02: a session is continued after the program was killed, with its conversation.
func TestACPLoadAfterKill(t *testing.T) {
	t.Parallel()
	e := acp(t, acpPatch)
	id := e.open()
	require.Equal(t, "end_turn", e.prompt(id, "Make it loud."))
	_ = e.begin("session/prompt", acpPrompt(id, "Wait."))
	require.NoError(t, e.cmd.Process.Kill())

	e.seen = nil
	e.start()
	list := e.request("session/list", map[string]any{"cwd": e.dir})["sessions"].([]any)
	require.Len(t, list, 1)
	require.Equal(t, id, list[0].(map[string]any)["sessionId"])
	e.request("session/load", map[string]any{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	require.True(t, strings.HasPrefix(e.said("user_message_chunk"), "Make it loud."), e.said("user_message_chunk"))
	require.Contains(t, e.said("agent_message_chunk"), "Finished.")
	data, err := json.Marshal(e.seen)
	require.NoError(t, err)
	require.Contains(t, string(data), `"title":"SafePatch: Patch f.txt"`)
	e.seen = nil
	require.Equal(t, "end_turn", e.prompt(id, "Go on."))
	require.NotEmpty(t, e.said("agent_message_chunk"))

	require.Empty(t, e.request("session/close", map[string]any{"sessionId": id}))
	code, message := e.fails("session/prompt", acpPrompt(id, "Go on."))
	require.Equal(t, -32602, code)
	require.Contains(t, message, "There is no open session")
	e.seen = nil
	e.request("session/resume", map[string]any{"sessionId": id, "cwd": e.dir})
	require.Empty(t, e.said("user_message_chunk"), "resume sends no conversation")
	for _, ref := range []string{"0123456789", "", "latest", "choose", "1", id[:8]} {
		code, _ = e.fails("session/load", map[string]any{"sessionId": ref, "cwd": e.dir, "mcpServers": []any{}})
		require.Equal(t, -32002, code, ref)
	}
}

const acpSlow = `{"turns": [
  {"calls": [{"tool": "run_shell_command", "args": {"command": "touch made; echo runs; sleep 300"}}]},
  {"text": "Never."},
  {"text": "Later."}, {"text": "Later."}, {"text": "Later."}
]}`

// FD-02: a cancellation ends a turn in each of its states, with cancelled; the next
// prompt runs.
func TestACPCancel(t *testing.T) {
	t.Parallel()
	turns := strings.Replace(acpSlow, `{"text": "Never."},`, "", 1)
	for state, cancel := range map[string]func(e *acpEditor, session string){
		"at once": func(e *acpEditor, session string) { e.cancel(session) },
		"in a question": func(e *acpEditor, session string) {
			e.answer = func(string, map[string]any) any { return nil }
			e.until("session/request_permission")
			e.cancel(session)
		},
		"in a question that is then answered": func(e *acpEditor, session string) {
			e.answer = func(string, map[string]any) any {
				e.cancel(session)
				return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
			}
			e.until("session/request_permission")
		},
		"in a call": func(e *acpEditor, session string) {
			e.until("runs\\n")
			e.cancel(session)
		},
		"by its request": func(e *acpEditor, _ string) {
			e.until("runs\\n")
			e.send(map[string]any{"jsonrpc": "2.0", "method": "$/cancel_request", "params": map[string]any{"requestId": e.ids}})
		},
		"twice": func(e *acpEditor, session string) {
			e.until("runs\\n")
			e.cancel(session)
			e.cancel(session)
		},
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			e := acp(t, turns)
			session := e.open()
			id := e.begin("session/prompt", acpPrompt(session, "Run it."))
			cancel(e, session)
			require.Equal(t, map[string]any{"stopReason": "cancelled"}, e.wait(id)["result"])
			e.cancel(session) // of nothing
			if state == "at once" {
				return // the script has not begun
			}
			e.seen = nil
			require.Equal(t, "end_turn", e.prompt(session, "Go on."))
			require.Contains(t, e.said("agent_message_chunk"), "Later.")
		})
	}
}

// FD-02: a prompt that follows a cancelled one at once is answered, each by its own
// response.
func TestACPPromptAfterCancel(t *testing.T) {
	t.Parallel()
	e := acp(t, `{"turns": [{"when": {"prompt": "number"}, "text": "Answered.", "repeat": "forever"}]}`)
	session := e.open()
	for i := range 20 {
		first := e.begin("session/prompt", acpPrompt(session, fmt.Sprintf("The cancelled number %d.", i)))
		e.cancel(session)
		second := e.begin("session/prompt", acpPrompt(session, fmt.Sprintf("The number %d.", i)))
		answers := map[float64]any{}
		for len(answers) < 2 {
			m := e.next()
			if m["method"] == nil {
				answers[m["id"].(float64)] = m["result"]
				continue
			}
			e.handle(m)
		}
		require.NotNil(t, answers[float64(first)], "it may have been answered before the cancellation arrived")
		require.Equal(t, map[string]any{"stopReason": "end_turn"}, answers[float64(second)])
	}
}

// FD-02: a second prompt is refused while one runs.
func TestACPSecondPrompt(t *testing.T) {
	t.Parallel()
	e := acp(t, acpSlow)
	session := e.open()
	first := e.begin("session/prompt", acpPrompt(session, "Run it."))
	e.until("runs\\n")
	code, message := e.fails("session/prompt", acpPrompt(session, "And this."))
	require.Equal(t, -32600, code)
	require.Contains(t, message, "works on a prompt")
	e.cancel(session)
	require.Equal(t, "cancelled", e.wait(first)["result"].(map[string]any)["stopReason"])
}

// FD-02: malformed messages are answered, and the connection goes on.
func TestACPMalformed(t *testing.T) {
	t.Parallel()
	e := acp(t, `{"turns": [{"text": "Still there."}]}`)
	for message, want := range map[string]int{
		`garbage`:          -32700,
		`{"jsonrpc":"2.0"`: -32700,
		"\x00\xff":         -32700,
		`[]`:               -32600,
		`[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]`: -32600,
		`7`:                                -32600,
		`{}`:                               -32600,
		`{"id":"x","method":"initialize"}`: -32600,
		`{"jsonrpc":"1.0","id":"x","method":"initialize"}`:                                                                         -32600,
		`{"jsonrpc":"2.0","id":{},"method":"initialize"}`:                                                                          -32600,
		`{"jsonrpc":"2.0","id":"x","method":7}`:                                                                                    -32600,
		`{"jsonrpc":"2.0","id":"x"}`:                                                                                               -32600,
		`{"jsonrpc":"2.0","id":"x","method":"no/such_method"}`:                                                                     -32601,
		`{"jsonrpc":"2.0","id":"x","method":"_own/method"}`:                                                                        -32601,
		`{"jsonrpc":"2.0","id":"x","method":"session/new"}`:                                                                        -32602,
		`{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":7,"mcpServers":[]}}`:                                     -32602,
		`{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":"relative","mcpServers":[]}}`:                            -32602,
		`{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":"/no/such/directory","mcpServers":[]}}`:                  -32602,
		`{"jsonrpc":"2.0","id":"x","method":"session/prompt","params":{"sessionId":"none","prompt":[]}}`:                           -32602,
		`{"jsonrpc":"2.0","id":"x","method":"session/prompt","params":{"sessionId":"none","prompt":[{"type":"nonsense"}]}}`:        -32602,
		`{"jsonrpc":"2.0","id":"x","method":"session/set_mode","params":{"sessionId":"none","modeId":"plan"}}`:                     -32602,
		`{"jsonrpc":"2.0","id":"x","method":"session/set_config_option","params":{"sessionId":"none","configId":"a","value":"b"}}`: -32602,
		`{"jsonrpc":"2.0","id":"x","method":"authenticate","params":{"methodId":"none"}}`:                                          -32602,
		`{"jsonrpc":"2.0","id":"x","method":"` + strings.Repeat("x", 11<<20) + `"}`:                                                -32600,
	} {
		_, err := io.WriteString(e.in, message+"\n")
		require.NoError(t, err)
		m := e.next()
		require.NotNil(t, m["error"], "%.80s: %v", message, m)
		require.Equal(t, float64(want), m["error"].(map[string]any)["code"], "%.80s: %v", message, m)
	}
	for _, ignored := range []string{
		"", "  ", `{"jsonrpc":"2.0","method":"no/such_notification"}`, `{"jsonrpc":"2.0","method":"session/cancel"}`, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":7}}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"none"}}`,
	} {
		for range 2000 { // more than the queue of the SDK
			_, err := io.WriteString(e.in, ignored+"\n")
			require.NoError(t, err)
		}
	}
	require.Equal(t, "end_turn", e.prompt(e.open(), "Are you there?"))
	require.Equal(t, "Still there.", e.said("agent_message_chunk"))
}

// FD-02: the program ends when the editor dies, and so do the commands that it runs.
func TestACPEditorDies(t *testing.T) {
	t.Parallel()
	e := acp(t, strings.Replace(acpSlow, "touch made; echo runs; sleep 300", "echo runs; trap 'echo end > ended' EXIT; sleep 300", 1))
	session := e.open()
	_ = e.begin("session/prompt", acpPrompt(session, "Run it."))
	e.until("runs\\n")
	require.NoError(t, e.in.Close())
	require.NoError(t, e.cmd.Wait())
}

// FD-02: the program ends when the editor no longer reads.
func TestACPEditorDoesNotRead(t *testing.T) {
	t.Parallel()
	e := acp(t, acpSlow)
	session := e.open()
	require.NoError(t, e.out.Close())
	_ = e.begin("session/prompt", acpPrompt(session, "Run it."))
	require.NoError(t, e.cmd.Wait())
}

// FD-02: a stream of small updates arrives whole and in order, at more than 1,000 a
// second.
func TestACPManyUpdates(t *testing.T) {
	t.Parallel()
	const pieces = 5000
	var all []string
	for i := range pieces {
		all = append(all, fmt.Sprintf("%d ", i))
	}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	e := acp(t, `{"turns": [{"text": `+string(text)+`}]}`)
	session := e.open()
	begun := time.Now()
	require.Equal(t, "end_turn", e.prompt(session, "Count."))
	require.Less(t, time.Since(begun), pieces*time.Millisecond)
	require.Equal(t, strings.Join(all, ""), e.said("agent_message_chunk"))
}

// FD-02: the MCP servers of the editor are those of the session.
func TestACPServers(t *testing.T) {
	t.Parallel()
	e := acp(t, `{"turns": [{"calls": [{"tool": "mcp_shelf_burn_book", "args": {"title": "Emma"}}]}, {"text": "ok"}]}`)
	session := e.open(map[string]any{"name": "shelf", "command": "bookshelf", "args": []any{}, "env": []any{}})
	require.Equal(t, "end_turn", e.prompt(session, "Burn it."))
	require.Equal(t, 1, e.asked())
	data, err := json.Marshal(e.seen)
	require.NoError(t, err)
	require.Contains(t, string(data), `"status":"completed"`)
	for _, bad := range []map[string]any{{"name": "a*", "command": "x", "args": []any{}, "env": []any{}}, {"type": "acp", "name": "a", "id": "1"}, {"name": "a", "command": "", "args": []any{}, "env": []any{}}} {
		code, _ := e.fails("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{bad}})
		require.Equal(t, -32602, code)
	}
}

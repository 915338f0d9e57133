package a2a

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	protocol "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/providers"
	mcp "github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/fettle-dev/fettle/core/services/credentials"
)

// client is a client of a server with a scripted model.
type client struct {
	t      *testing.T
	dir    string
	home   string
	server *server
	web    *httptest.Server
	token  string
}

// connect starts a server in a new directory.
func connect(t *testing.T, turns string, change ...func(f *serveFlags)) *client {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	c := &client{t: t, dir: dir, home: t.TempDir()}
	t.Setenv("HOME", c.home)
	require.NoError(t, os.WriteFile(filepath.Join(c.home, "turns.json"), []byte(turns), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f.txt"), []byte("one\ntwo\n"), 0o644))
	c.start(change...)
	return c
}

// start starts the server, as after a restart.
func (c *client) start(change ...func(f *serveFlags)) {
	p := &program.Program{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Open: program.Open}
	g := &program.Flags{Cwd: c.dir, Model: "script:" + filepath.Join(c.home, "turns.json"), ApprovalMode: "default", Layout: "fettle"}
	p.Keys = credentials.Open(program.KeysFile(g), nil)
	p.Providers = providers.All{Keys: func() *credentials.Store { return p.Keys }}
	f := &serveFlags{sessions: 16}
	for _, each := range change {
		each(f)
	}
	c.server = newServer(p, g, f)
	var o mcp.HTTPOptions
	if c.token != "" {
		o.Tokens = []string{c.token}
	}
	c.web = httptest.NewServer(c.server.handler(&protocol.AgentCard{Name: "fettle"}, o))
	server, web := c.server, c.web
	c.t.Cleanup(func() {
		server.closeAll(time.Minute)
		web.Close()
	})
}

// response is a JSON-RPC response.
type response struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    struct{ Error string }
	}
}

func (c *client) post(body string) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.web.URL+"/", strings.NewReader(body))
	require.NoError(c.t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(c.t, err)
	return resp
}

func (c *client) call(method, params string) response {
	c.t.Helper()
	resp := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	defer resp.Body.Close()
	var got response
	require.NoError(c.t, json.NewDecoder(resp.Body).Decode(&got))
	return got
}

// task calls a method that returns a task.
func (c *client) task(method, params string) *protocol.Task {
	c.t.Helper()
	got := c.call(method, params)
	require.Nil(c.t, got.Error, "%+v", got.Error)
	var t protocol.Task
	require.NoError(c.t, json.Unmarshal(got.Result, &t))
	return &t
}

// stream sends a message, and returns the states and the pieces of the answer that follow.
func (c *client) stream(params string) (all []string, last protocol.TaskID) {
	c.t.Helper()
	resp := c.post(`{"jsonrpc":"2.0","id":1,"method":"message/stream","params":` + params + `}`)
	defer resp.Body.Close()
	require.Equal(c.t, "text/event-stream", resp.Header.Get("Content-Type"))
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var got response
		require.NoError(c.t, json.Unmarshal([]byte(data), &got))
		e, err := protocol.UnmarshalEventJSON(got.Result)
		require.NoError(c.t, err)
		last = e.TaskInfo().TaskID
		switch e := e.(type) {
		case *protocol.Task:
			all = append(all, "task "+string(e.Status.State))
		case *protocol.TaskArtifactUpdateEvent:
			all = append(all, e.Artifact.Parts[0].(protocol.TextPart).Text)
		case *protocol.TaskStatusUpdateEvent:
			all = append(all, fmt.Sprint(e.Status.State, " ", e.Final))
		}
	}
	return all, last
}

// message returns the parameters of a message to a task or a context; part is one part in JSON.
func message(task protocol.TaskID, in, part string) string {
	m := map[string]any{"kind": "message", "role": "user", "messageId": "m", "parts": []any{json.RawMessage(part)}}
	if task != "" {
		m["taskId"] = task
	}
	if in != "" {
		m["contextId"] = in
	}
	return jsonOf(map[string]any{"message": m})
}

func text(s string) string { return jsonOf(map[string]any{"kind": "text", "text": s}) }

func said(t *protocol.Task) string {
	if len(t.Artifacts) == 0 {
		return ""
	}
	return t.Artifacts[0].Parts[0].(protocol.TextPart).Text
}

func reason(t *protocol.Task) string {
	if t.Status.Message == nil {
		return ""
	}
	return t.Status.Message.Parts[0].(protocol.TextPart).Text
}

const patchTurns = `{"turns": [
  {"text": "I read it.", "calls": [{"tool": "read_file", "args": {"file_path": "f.txt"}}]},
  {"calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "{{sha256 \"f.txt\"}}", "unified_diff": "@@\n one\n-two\n+TWO\n"}}]},
  {"text": "Finished."}, {"text": "Again."}
]}`

// FD-04: a prompt is a task whose answer is an artifact; a call that needs approval requires
// input, and each form of an answer has its effect.
func TestApproval(t *testing.T) {
	for name, tt := range map[string]struct{ part, want string }{
		"yes":        {text("yes"), "TWO"},
		"y":          {text(" Y "), "TWO"},
		"always":     {text("always"), "TWO"},
		"an outcome": {`{"kind":"data","data":{"outcome":"proceed_once"}}`, "TWO"},
		"a word":     {`{"kind":"data","data":{"answer":"yes"}}`, "TWO"},
		"no":         {text("n"), "two"},
		"cancel":     {`{"kind":"data","data":{"outcome":"cancel"}}`, "two"},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, patchTurns)
			asks := c.task("message/send", message("", "", text("Make it loud.")))
			require.Equal(t, protocol.TaskStateInputRequired, asks.Status.State, "%s", reason(asks))
			require.Contains(t, reason(asks), "+TWO")
			require.Contains(t, reason(asks), "- yes (y)")
			data := asks.Status.Message.Parts[1].(protocol.DataPart).Data
			require.Equal(t, "safe_patch", data["tool"])

			unclear := c.task("message/send", message(asks.ID, "", text("perhaps")))
			require.Equal(t, protocol.TaskStateInputRequired, unclear.Status.State)
			require.Contains(t, reason(unclear), "none of the options")

			done := c.task("message/send", message(asks.ID, asks.ContextID, tt.part))
			require.Equal(t, protocol.TaskStateCompleted, done.Status.State)
			require.Equal(t, "I read it.\n\nFinished.", said(done))
			require.Equal(t, done, c.task("tasks/get", `{"id":"`+string(asks.ID)+`"}`))
			content, err := os.ReadFile(filepath.Join(c.dir, "f.txt"))
			require.NoError(t, err)
			require.Equal(t, "one\n"+tt.want+"\n", string(content))

			next := c.task("message/send", message("", asks.ContextID, text("And now?")))
			require.Equal(t, "Again.", said(next))
			require.Equal(t, asks.ContextID, next.ContextID)
			require.NotEqual(t, asks.ID, next.ID)
		})
	}
}

// FD-04: a stream begins with the task, and ends at a question and at the end.
func TestStream(t *testing.T) {
	c := connect(t, patchTurns)
	states := func(params string) ([]string, protocol.TaskID) {
		all, last := c.stream(params)
		return slices.DeleteFunc(all, func(one string) bool { return one == "working false" }), last
	}
	all, id := states(message("", "", text("Make it loud.")))
	require.Equal(t, []string{"task submitted", "I read it.", "input-required true"}, all)
	all, _ = states(message(id, "", text("yes")))
	require.Equal(t, []string{"task working", "\n\nFinished.", "completed true"}, all)
}

// FD-04: a task is cancelled in each state but an ended one.
func TestCancel(t *testing.T) {
	c := connect(t, patchTurns)
	asks := c.task("message/send", message("", "", text("Make it loud.")))
	queued := c.task("message/send", strings.Replace(message("", asks.ContextID, text("More.")), "{", `{"configuration":{"blocking":false},`, 1))
	require.Equal(t, protocol.TaskStateSubmitted, queued.Status.State)
	for _, one := range []*protocol.Task{queued, asks} {
		require.Equal(t, protocol.TaskStateCanceled, c.task("tasks/cancel", `{"id":"`+string(one.ID)+`"}`).Status.State)
		again := c.call("tasks/cancel", `{"id":"`+string(one.ID)+`"}`)
		require.Equal(t, -32002, again.Error.Code)
		require.Equal(t, -32602, c.call("message/send", message(one.ID, "", text("yes"))).Error.Code)
	}
	content, err := os.ReadFile(filepath.Join(c.dir, "f.txt"))
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", string(content))
}

// FD-04: after a restart the session continues, and its earlier tasks have failed with a reason.
func TestRestart(t *testing.T) {
	c := connect(t, patchTurns)
	asks := c.task("message/send", message("", "", text("Make it loud.")))
	c.server.closeAll(time.Minute)
	ended := c.task("tasks/get", `{"id":"`+string(asks.ID)+`"}`)
	require.Equal(t, protocol.TaskStateFailed, ended.Status.State)
	require.Contains(t, reason(ended), "The session was closed")
	require.Equal(t, -32000, c.call("message/send", message("", "", text("More."))).Error.Code)

	c.start()
	require.Equal(t, -32001, c.call("tasks/get", `{"id":"`+string(asks.ID)+`"}`).Error.Code)
	c.server.recorded = func(_ context.Context, id string) (string, bool) { return c.home, id == asks.ContextID }
	lost := c.task("tasks/get", `{"id":"`+string(asks.ID)+`"}`)
	require.Equal(t, protocol.TaskStateFailed, lost.Status.State)
	require.Contains(t, reason(lost), "The server was restarted")
	next := c.task("message/send", message("", asks.ContextID, text("Go on.")))
	require.Equal(t, asks.ContextID, next.ContextID)
}

// FD-04: a task works once its prompt is recorded, so that a client that sees it finds it after a restart.
func TestSubmittedUntilRecorded(t *testing.T) {
	c := connect(t, `{"turns": [{"text": "One."}]}`)
	began, proceed := filepath.Join(c.home, "began"), filepath.Join(c.home, "proceed")
	hook := jsonOf(map[string]any{"type": "command", "command": "touch '" + began + "'; until test -e '" + proceed + "'; do sleep 0.01; done"})
	require.NoError(t, os.MkdirAll(filepath.Join(c.home, ".fettle"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(c.home, ".fettle", "settings.json"), []byte(`{"hooks": {"BeforeAgent": [{"hooks": [`+hook+`]}]}}`), 0o600))
	sent := c.task("message/send", strings.Replace(message("", "", text("x")), "{", `{"configuration":{"blocking":false},`, 1))
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	require.Eventually(t, func() bool { return exists(began) }, time.Minute, 10*time.Millisecond)
	state := func() protocol.TaskState {
		return c.task("tasks/get", `{"id":"`+string(sent.ID)+`"}`).Status.State
	}
	require.Equal(t, protocol.TaskStateSubmitted, state())
	require.NoError(t, os.WriteFile(proceed, nil, 0o600))
	require.Eventually(t, func() bool { return state() == protocol.TaskStateCompleted }, time.Minute, 10*time.Millisecond)
}

// FD-04: a prompt that is not recorded never works. Activities before it is recorded are those of a submitted task.
func TestNeverWorking(t *testing.T) {
	for prompt, want := range map[string][]string{
		"x":        {"task submitted", "rejected true"},
		"@missing": {"task submitted", "submitted false", "rejected true"},
	} {
		c := connect(t, `{"turns": [{"text": "One."}]}`)
		require.NoError(t, os.MkdirAll(filepath.Join(c.home, ".fettle"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(c.home, ".fettle", "settings.json"), []byte(`{"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}`), 0o600))
		all, _ := c.stream(message("", "", text(prompt)))
		require.Equal(t, want, all)
	}
}

// FD-04: a question that comes before the prompt is recorded does not make the task work.
func TestQuestionBeforeRecorded(t *testing.T) {
	c := connect(t, `{"turns": [{"text": "One."}]}`)
	require.NoError(t, os.MkdirAll(filepath.Join(c.home, ".fettle", "commands"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(c.home, ".fettle", "commands", "made.toml"), []byte(`prompt = "It says !{touch made && echo yes}."`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(c.home, ".fettle", "settings.json"), []byte(`{"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}`), 0o600))
	all, id := c.stream(message("", "", text("/made")))
	require.Equal(t, []string{"task submitted", "input-required true"}, all)
	all, _ = c.stream(message(id, "", text("yes")))
	require.Equal(t, []string{"task submitted", "rejected true"}, all)
	require.FileExists(t, filepath.Join(c.dir, "made"))
}

// FD-04: an idle recorded session is closed for a new one; a session that is not recorded is not.
func TestSessionLimit(t *testing.T) {
	one := func(f *serveFlags) { f.sessions = 1 }
	c := connect(t, `{"turns": [{"text": "One."}, {"text": "Two."}]}`, one)
	first := c.task("message/send", message("", "mine", text("x")))
	require.Equal(t, "mine", first.ContextID)
	require.Equal(t, protocol.TaskStateCompleted, c.task("message/send", message("", "", text("y"))).Status.State)
	require.Equal(t, protocol.TaskStateCompleted, c.task("tasks/get", `{"id":"`+string(first.ID)+`"}`).Status.State)

	c = connect(t, `{"turns": [{"text": "One."}]}`, one, func(f *serveFlags) { f.talk.NoRecord = true })
	c.task("message/send", message("", "", text("x")))
	refused := c.call("message/send", message("", "", text("y")))
	require.Equal(t, -32000, refused.Error.Code)
	require.Contains(t, refused.Error.Data.Error, "1 sessions are open, the maximum")
}

// FD-04: requests that cannot be served are answered with an error of the protocol.
func TestRefusals(t *testing.T) {
	c := connect(t, `{"turns": [{"text": "One."}]}`)
	get := `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}`
	for name, tt := range map[string]struct {
		body string
		code int
	}{
		"no JSON":         {`{`, -32700},
		"two requests":    {get + get, -32700},
		"trailing text":   {get + "x", -32700},
		"no object":       {`[]`, -32600},
		"bad method":      {`{"jsonrpc":"2.0","id":1,"method":7}`, -32600},
		"method missing":  {`{"jsonrpc":"2.0","id":1}`, -32600},
		"a fraction":      {strings.Replace(get, `"id":1`, `"id":1.5`, 1), -32600},
		"a large id":      {strings.Replace(get, `"id":1`, `"id":9007199254740992`, 1), -32600},
		"an object as id": {strings.Replace(get, `"id":1`, `"id":{}`, 1), -32600},
		"largest id":      {strings.Replace(get, `"id":1`, `"id":9007199254740991`, 1), -32001},
		"bad params":      {`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":[1]}`, -32602},
		"bad message":     {`{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":7}}`, -32602},
		"no params":       {`{"jsonrpc":"2.0","id":1,"method":"tasks/cancel"}`, -32602},
		"no version":      {`{"id":1,"method":"tasks/get","params":{"id":"x"}}`, -32600},
		"no method":       {`{"jsonrpc":"2.0","id":1,"method":"tasks/dance"}`, -32601},
		"unknown task":    {`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}`, -32001},
		"cancel unknown":  {`{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"x.y"}}`, -32001},
		"no message":      {`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}`, -32602},
		"no text":         {`{"jsonrpc":"2.0","id":1,"method":"message/send","params":` + message("", "", text(" ")) + `}`, -32602},
		"an agent":        {`{"jsonrpc":"2.0","id":1,"method":"message/send","params":` + strings.Replace(message("", "", text("x")), `"user"`, `"agent"`, 1) + `}`, -32602},
		"a file":          {`{"jsonrpc":"2.0","id":1,"method":"message/send","params":` + message("", "", `{"kind":"file","file":{"uri":"file:///etc/passwd"}}`) + `}`, -32005},
		"bad context":     {`{"jsonrpc":"2.0","id":1,"method":"message/send","params":` + message("", "../x", text("x")) + `}`, -32602},
		"push":            {`{"jsonrpc":"2.0","id":1,"method":"message/send","params":` + strings.Replace(message("", "", text("x")), "{", `{"configuration":{"pushNotificationConfig":{"url":"http://x"}},`, 1) + `}`, -32003},
		"push config":     {`{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/set","params":{"taskId":"x","pushNotificationConfig":{"url":"http://x"}}}`, -32003},
		"too long":        {`{"jsonrpc":"2.0","id":1,"method":"message/send","params":` + message("", "", text(strings.Repeat("x", maxBody))) + `}`, -32700},
	} {
		t.Run(name, func(t *testing.T) {
			resp := c.post(tt.body)
			defer resp.Body.Close()
			var got response
			require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
			require.NotNil(t, got.Error)
			require.Equal(t, tt.code, got.Error.Code)
		})
	}
}

// FD-04: a refusal names the id of its request if it is readable.
func TestRefusalNamesID(t *testing.T) {
	c := connect(t, `{"turns": [{"text": "One."}]}`)
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"a","method":7}`:                `"a"`,
		`{"jsonrpc":"1.0","id":7,"method":"tasks/get"}`:        "7",
		`{"jsonrpc":"2.0","id":8,"method":"tasks/get"}`:        "8",
		`{"jsonrpc":"2.0","id":1.5,"method":"tasks/get"}`:      "null",
		`{"jsonrpc":"2.0","id":{"a":1},"method":"tasks/get"}`:  "null",
		`{"jsonrpc":"2.0","id":9,"method":"tasks/get"} and so`: "null",
	} {
		resp := c.post(body)
		var got struct{ ID, Error json.RawMessage }
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
		require.NoError(t, resp.Body.Close())
		require.NotEmpty(t, got.Error, body)
		require.Equal(t, want, string(got.ID), body)
	}
}

// FD-04: a command of the program, such as one that changes the approval mode, is not available.
func TestCommandsAreRefused(t *testing.T) {
	c := connect(t, `{"turns": [{"text": "One."}]}`)
	done := c.task("message/send", message("", "", text("/mode yolo")))
	require.Equal(t, protocol.TaskStateFailed, done.Status.State)
	require.Contains(t, reason(done), "not available")
}

// FD-04: requests need the token, and an accepted host and origin; the card needs no token.
func TestGuard(t *testing.T) {
	c := connect(t, `{"turns": [{"text": "One."}]}`)
	c.token = "secret-token"
	c.start()
	for name, tt := range map[string]struct {
		method, path string
		change       func(r *http.Request)
		want         int
	}{
		"card":         {"GET", "/.well-known/agent-card.json", func(*http.Request) {}, 200},
		"card, host":   {"GET", "/.well-known/agent-card.json", func(r *http.Request) { r.Host = "evil.example" }, 403},
		"no token":     {"POST", "/", func(*http.Request) {}, 401},
		"wrong token":  {"POST", "/", func(r *http.Request) { r.Header.Set("Authorization", "Bearer other") }, 401},
		"token":        {"POST", "/", func(r *http.Request) { r.Header.Set("Authorization", "Bearer secret-token") }, 200},
		"origin":       {"POST", "/", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		"another path": {"POST", "/x", func(*http.Request) {}, 404},
		"get":          {"GET", "/", func(*http.Request) {}, 405},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, c.web.URL+tt.path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}`))
			require.NoError(t, err)
			tt.change(r)
			resp, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, tt.want, resp.StatusCode)
		})
	}
}

// FD-04: the outcomes of a session are read again, the last one of a task counts, and a line that a crash left
// incomplete is ignored.
func TestOutcomes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "side")
	_, ok := outcomeOf(dir, "s.1")
	require.False(t, ok)
	for _, o := range []outcome{
		{ID: "s.1", State: protocol.TaskStateFailed, Reason: "why"},
		{ID: "s.2", State: protocol.TaskStateCompleted, Answer: strings.Repeat("x", 1<<20)},
		{ID: "s.1", State: protocol.TaskStateCompleted, Answer: "one\ntwo"},
	} {
		require.NoError(t, keepOutcome(dir, o))
	}
	f, err := os.OpenFile(filepath.Join(dir, outcomesFile), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"id":"s.1","state":"fai`)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	o, ok := outcomeOf(dir, "s.1")
	require.True(t, ok)
	task := o.ended("s").snapshot(nil)
	require.Equal(t, protocol.TaskStateCompleted, task.Status.State)
	require.Equal(t, "one\ntwo", said(task))
	_, ok = outcomeOf(dir, "s.3")
	require.False(t, ok)
}

// FD-04: a too long answer ends with one note.
func TestLongAnswer(t *testing.T) {
	one := newTask(t.Context(), "s", &protocol.Message{})
	one.say(strings.Repeat("x", maxAnswer-1))
	for range 3 {
		one.say("more")
	}
	require.Equal(t, 1, strings.Count(one.said(), "omitted"))
}

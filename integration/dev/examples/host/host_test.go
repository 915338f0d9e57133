package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
)

const token = "a-secret-of-the-test"

// serve serves a session whose model plays turns, and returns the address and the session's directory.
func serve(t *testing.T, turns string) (address, dir string) {
	t.Helper()
	generator, err := script.Parse("test", []byte(turns))
	require.NoError(t, err)
	dir = t.TempDir()
	p := config.Parameters{TargetDir: dir, Conversation: config.Conversation{Models: model.Always(script.New(generator, script.Options{})), Model: "local"}}
	p.Environment.HomeDir = t.TempDir()
	c, err := config.New(p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NoError(t, c.Initialize(t.Context()))
	h, err := newHost(t.Context(), c, token)
	require.NoError(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http"), dir
}

// connected is a client of the host.
type connected struct {
	t    *testing.T
	conn *websocket.Conn
}

func connect(t *testing.T, address string) *connected {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), address, nil)
	require.NoError(t, err)
	t.Cleanup(func() { conn.CloseNow() })
	c := &connected{t, conn}
	c.say(map[string]any{"token": token})
	return c
}

func (c *connected) say(message map[string]any) {
	c.t.Helper()
	text, err := json.Marshal(message)
	require.NoError(c.t, err)
	require.NoError(c.t, c.conn.Write(c.t.Context(), websocket.MessageText, text))
}

// next returns the next message of a type.
func (c *connected) next(kind string) map[string]any {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	for {
		_, text, err := c.conn.Read(ctx)
		require.NoError(c.t, err, "no message of the type %s", kind)
		var message map[string]any
		require.NoError(c.t, json.Unmarshal(text, &message))
		if message["type"] == kind {
			return message
		}
	}
}

func (c *connected) answer(question map[string]any, yes bool) {
	c.t.Helper()
	c.say(map[string]any{"type": "tool-confirmation-response", "correlationId": question["correlationId"], "confirmed": yes})
}

const writes = `{"turns":[{"calls":[{"tool":"write_file","args":{"file_path":"a.txt","content":"hello\n"}}]},{"text":"I am done."}]}`

// FD-06: the question of a call arrives over the socket, and only a yes lets the call change the file.
func TestAnswers(t *testing.T) {
	for name, yes := range map[string]bool{"yes": true, "no": false} {
		t.Run(name, func(t *testing.T) {
			address, dir := serve(t, writes)
			c := connect(t, address)
			c.say(map[string]any{"type": "prompt", "text": "Write it."})
			require.Equal(t, "write_file", c.next("tool_use")["tool_name"])
			q := c.next("tool-confirmation-request")
			require.Contains(t, q["details"].(map[string]any)["fileDiff"], "+hello")
			c.answer(q, yes)
			require.Equal(t, map[bool]string{true: "success", false: "error"}[yes], c.next("tool_result")["status"])
			require.Equal(t, "I am done.", c.next("message")["content"])
			c.next("done")
			_, err := os.Stat(filepath.Join(dir, "a.txt"))
			require.Equal(t, yes, err == nil)
		})
	}
}

// FD-06: a question waits for a client that has left, and is sent to it again.
func TestReconnect(t *testing.T) {
	address, dir := serve(t, writes)
	first := connect(t, address)
	first.say(map[string]any{"type": "prompt", "text": "Write it."})
	asked := first.next("tool-confirmation-request")
	require.NoError(t, first.conn.CloseNow())
	second := connect(t, address)
	again := second.next("tool-confirmation-request")
	require.Equal(t, asked["correlationId"], again["correlationId"])
	second.answer(again, true)
	second.next("done")
	require.FileExists(t, filepath.Join(dir, "a.txt"))
}

// FD-06: the first answer counts; the other client receives a message that the question has ended, and its answer is refused.
func TestTwoApprovers(t *testing.T) {
	address, dir := serve(t, writes)
	first, second := connect(t, address), connect(t, address)
	first.say(map[string]any{"type": "prompt", "text": "Write it."})
	q := first.next("tool-confirmation-request")
	require.Equal(t, q["correlationId"], second.next("tool-confirmation-request")["correlationId"])
	first.answer(q, false)
	require.Equal(t, q["correlationId"], second.next("closed")["correlationId"])
	second.answer(q, true)
	require.Contains(t, second.next("error")["message"], "answered")
	require.NoFileExists(t, filepath.Join(dir, "a.txt"))
}

// FD-06: a cancelled prompt ends, closes its question, and leaves the session ready for the next one.
func TestCancel(t *testing.T) {
	address, dir := serve(t, writes)
	c := connect(t, address)
	c.say(map[string]any{"type": "prompt", "text": "Write it."})
	c.next("tool-confirmation-request")
	c.say(map[string]any{"type": "prompt", "text": "Another."})
	require.Contains(t, c.next("error")["message"], "running")
	c.say(map[string]any{"type": "cancel"})
	c.next("user_cancelled")
	require.NoFileExists(t, filepath.Join(dir, "a.txt"))
	c.say(map[string]any{"type": "prompt", "text": "Go on."})
	c.next("done")
}

// FD-06: clients without the token, pages of other origins and messages that are no answers are refused.
func TestRefused(t *testing.T) {
	address, _ := serve(t, writes)
	conn, _, err := websocket.Dial(t.Context(), address, nil)
	require.NoError(t, err)
	defer conn.CloseNow()
	require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"token":"another"}`)))
	_, _, err = conn.Read(t.Context())
	require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err))

	_, response, err := websocket.Dial(t.Context(), address, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://evil.example"}}})
	require.Error(t, err)
	require.Equal(t, http.StatusForbidden, response.StatusCode)

	c := connect(t, address)
	c.say(map[string]any{"type": "tool-output", "callId": "x", "chunk": "y"})
	require.Contains(t, c.next("error")["message"], "only answers")
	c.say(map[string]any{"type": "prompt", "text": "Write it."})
	c.next("tool_use")
}

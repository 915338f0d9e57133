// Package a2a drives the built program's A2A server with the client of the protocol's official Go library.
package a2a

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	protocol "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"github.com/stretchr/testify/require"
)

// build builds the program once for all tests.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "fettle")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/fettle-dev/fettle/cli/fettle").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// modelServer is a server with OpenAI's API. It answers by the newest message: "write NAME" with a call, the result of
// a call with "Done.", "hang" with a beginning that never continues, and any other prompt with "Hello" in two pieces.
func modelServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []struct {
				Role    string
				Content json.RawMessage
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		role, last := "", ""
		if n := len(q.Messages); n > 0 {
			role, last = q.Messages[n-1].Role, string(q.Messages[n-1].Content)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		delta := func(delta, finish string) {
			fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
			w.(http.Flusher).Flush()
		}
		name := regexp.MustCompile(`write (\S+\.txt)`).FindStringSubmatch(last)
		switch {
		case role == "tool":
			delta(`{"role":"assistant","content":"Done."}`, `"stop"`)
		case name != nil:
			args, _ := json.Marshal(fmt.Sprintf(`{"file_path":%q,"content":"text\n"}`, name[1]))
			delta(`{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"write_file","arguments":`+string(args)+`}}]}`, `"tool_calls"`)
		case strings.Contains(last, "hang") && !strings.Contains(last, "Go on"):
			delta(`{"role":"assistant","content":"One moment"}`, "null")
			<-r.Context().Done()
			return
		default:
			delta(`{"role":"assistant","content":"Hel"}`, "null")
			delta(`{"content":"lo"}`, `"stop"`)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// agent is a running program, with a client connected to it.
type agent struct {
	*a2aclient.Client
	t                         *testing.T
	program, model, dir, home string
	cmd                       *exec.Cmd
}

// start starts the program, again after a stop, and connects a client by the agent card.
func (a *agent) start() {
	a.t.Helper()
	a.cmd = exec.Command(a.program, "--cwd", a.dir, "-m", "openai:m", "a2a", "serve", "--http", "127.0.0.1:0")
	a.cmd.Env = append(os.Environ(), "HOME="+a.home, "OPENAI_API_KEY=test", "OPENAI_BASE_URL="+a.model)
	stderr, err := a.cmd.StderrPipe()
	require.NoError(a.t, err)
	require.NoError(a.t, a.cmd.Start())
	lines := bufio.NewScanner(stderr)
	address := ""
	for address == "" && lines.Scan() {
		address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(lines.Text())
	}
	require.NotEmpty(a.t, address, "the program printed no address")
	go func() {
		for lines.Scan() {
		}
	}()
	card, err := agentcard.DefaultResolver.Resolve(a.t.Context(), address)
	require.NoError(a.t, err)
	require.Equal(a.t, "0.3.0", card.ProtocolVersion)
	a.Client, err = a2aclient.NewFromCard(a.t.Context(), card)
	require.NoError(a.t, err)
}

func (a *agent) kill() {
	_ = a.cmd.Process.Kill()
	_ = a.cmd.Wait()
}

func message(in *protocol.Task, text string) *protocol.MessageSendParams {
	m := protocol.NewMessage(protocol.MessageRoleUser, protocol.TextPart{Text: text})
	if in != nil {
		m.ContextID = in.ContextID
		if in.Status.State == protocol.TaskStateInputRequired {
			m.TaskID = in.ID
		}
	}
	return &protocol.MessageSendParams{Message: m}
}

// send sends a message and waits for its task.
func (a *agent) send(in *protocol.Task, text string) *protocol.Task {
	a.t.Helper()
	got, err := a.SendMessage(a.t.Context(), message(in, text))
	require.NoError(a.t, err)
	task, ok := got.(*protocol.Task)
	require.True(a.t, ok, "%T", got)
	return task
}

// begin sends a message and does not wait.
func (a *agent) begin(in *protocol.Task, text string) *protocol.Task {
	a.t.Helper()
	p, wait := message(in, text), false
	p.Config = &protocol.MessageSendConfig{Blocking: &wait}
	got, err := a.SendMessage(a.t.Context(), p)
	require.NoError(a.t, err)
	return got.(*protocol.Task)
}

func (a *agent) get(id protocol.TaskID) *protocol.Task {
	a.t.Helper()
	task, err := a.GetTask(a.t.Context(), &protocol.TaskQueryParams{ID: id})
	require.NoError(a.t, err)
	return task
}

// until waits for a state of a task.
func (a *agent) until(id protocol.TaskID, state protocol.TaskState) *protocol.Task {
	a.t.Helper()
	var task *protocol.Task
	require.Eventually(a.t, func() bool { task = a.get(id); return task.Status.State == state }, 20*time.Second, 10*time.Millisecond)
	return task
}

func (a *agent) cancel(id protocol.TaskID) {
	a.t.Helper()
	task, err := a.CancelTask(a.t.Context(), &protocol.TaskIDParams{ID: id})
	require.NoError(a.t, err)
	require.Equal(a.t, protocol.TaskStateCanceled, task.Status.State)
}

func answer(task *protocol.Task) string {
	var b strings.Builder
	for _, artifact := range task.Artifacts {
		for _, part := range artifact.Parts {
			if text, ok := part.(protocol.TextPart); ok {
				b.WriteString(text.Text)
			}
		}
	}
	return b.String()
}

// FD-04: the official client resolves the card, sends, streams, answers approvals, cancels in each state, subscribes
// again, and continues a context after the server was killed.
func TestOfficialClient(t *testing.T) {
	a := &agent{t: t, program: build(t), model: modelServer(t), dir: t.TempDir(), home: t.TempDir()}
	a.start()
	t.Cleanup(func() { a.kill() })

	hello := a.send(nil, "Say hello.")
	require.Equal(t, protocol.TaskStateCompleted, hello.Status.State)
	require.Equal(t, "Hello", answer(hello))
	require.Equal(t, "Hello", answer(a.get(hello.ID)))

	t.Run("stream", func(t *testing.T) {
		text, last := "", protocol.TaskStateUnspecified
		for e, err := range a.SendStreamingMessage(t.Context(), message(hello, "Again.")) {
			require.NoError(t, err)
			switch e := e.(type) {
			case *protocol.TaskArtifactUpdateEvent:
				for _, part := range e.Artifact.Parts {
					text += part.(protocol.TextPart).Text
				}
			case *protocol.TaskStatusUpdateEvent:
				last = e.Status.State
			}
		}
		require.Equal(t, "Hello", text)
		require.Equal(t, protocol.TaskStateCompleted, last)
	})

	for reply, exists := range map[string]bool{"yes": true, "no": false} {
		t.Run("approval, "+reply, func(t *testing.T) {
			asks := a.send(nil, "write "+reply+".txt")
			require.Equal(t, protocol.TaskStateInputRequired, asks.Status.State)
			done := a.send(asks, reply)
			require.Equal(t, protocol.TaskStateCompleted, done.Status.State)
			require.Equal(t, "Done.", answer(done))
			_, err := os.Stat(filepath.Join(a.dir, reply+".txt"))
			require.Equal(t, exists, err == nil)
		})
	}

	t.Run("cancel", func(t *testing.T) {
		hangs := a.begin(nil, "hang")
		require.Eventually(t, func() bool { return answer(a.get(hangs.ID)) == "One moment" }, 20*time.Second, 10*time.Millisecond)
		queued := a.begin(hangs, "write queued.txt")
		require.Equal(t, protocol.TaskStateSubmitted, a.get(queued.ID).Status.State)

		a.cancel(queued.ID) // before its turn
		a.cancel(hangs.ID)  // while the model answers
		asks := a.send(nil, "write cancelled.txt")
		a.cancel(asks.ID) // while it waits for input
		for _, name := range []string{"queued.txt", "cancelled.txt"} {
			require.NoFileExists(t, filepath.Join(a.dir, name))
		}
		_, err := a.CancelTask(t.Context(), &protocol.TaskIDParams{ID: asks.ID})
		require.ErrorIs(t, err, protocol.ErrTaskNotCancelable)
		require.Equal(t, "Hello", answer(a.send(hangs, "Go on.")), "the context continues")
	})

	t.Run("resubscribe", func(t *testing.T) {
		hangs := a.begin(nil, "hang")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		first := true
		last := protocol.TaskStateUnspecified
		for e, err := range a.ResubscribeToTask(ctx, &protocol.TaskIDParams{ID: hangs.ID}) {
			require.NoError(t, err)
			if first {
				require.Equal(t, hangs.ID, e.(*protocol.Task).ID)
				first = false
				a.cancel(hangs.ID)
			}
			if status, ok := e.(*protocol.TaskStatusUpdateEvent); ok {
				last = status.Status.State
			}
		}
		require.Equal(t, protocol.TaskStateCanceled, last)
	})

	t.Run("refused", func(t *testing.T) {
		_, err := a.GetTask(t.Context(), &protocol.TaskQueryParams{ID: "unknown"})
		require.ErrorIs(t, err, protocol.ErrTaskNotFound)
		_, err = a.SetTaskPushConfig(t.Context(), &protocol.TaskPushConfig{TaskID: hello.ID, Config: protocol.PushConfig{URL: "http://127.0.0.1:1/"}})
		require.ErrorIs(t, err, protocol.ErrPushNotificationNotSupported)
	})

	t.Run("killed", func(t *testing.T) {
		hangs := a.begin(nil, "hang")
		a.until(hangs.ID, protocol.TaskStateWorking)
		a.kill()
		a.start()
		require.Equal(t, protocol.TaskStateFailed, a.get(hangs.ID).Status.State)
		require.Equal(t, "Hello", answer(a.send(hangs, "Go on.")))
		finished := a.get(hello.ID)
		require.Equal(t, protocol.TaskStateCompleted, finished.Status.State)
		require.Equal(t, "Hello", answer(finished))
	})
}

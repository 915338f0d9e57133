package a2a_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	protocol "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/a2a"
	"github.com/fettle-dev/fettle/core/tools"
)

const cardPath = "/.well-known/agent-card.json"

// server is the server of an agent. Its fields can be set before it is called.
type server struct {
	*httptest.Server
	streaming bool
	rpc       http.Handler

	mu       sync.Mutex
	requests []string // "METHOD PATH credentials"
	methods  []string // of JSON-RPC
}

func newServer(t *testing.T, rpc http.Handler) *server {
	s := &server{rpc: rpc}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) card() string {
	return fmt.Sprintf(`{"name":"Echo","description":"Says it again.","url":%q,"protocolVersion":"0.3.0","version":"1","capabilities":{"streaming":%t},
		"defaultInputModes":["text"],"defaultOutputModes":["text"],"skills":[{"id":"e","name":"echo","description":"Repeats.","tags":[]}],
		"securitySchemes":{"new":{"type":"of another time"}}}`, s.URL+"/rpc", s.streaming)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("X-API-Key")))
	s.mu.Unlock()
	if r.URL.Path == cardPath {
		_, _ = io.WriteString(w, s.card())
		return
	}
	body, _ := io.ReadAll(r.Body)
	var call struct{ Method string }
	_ = json.Unmarshal(body, &call)
	s.mu.Lock()
	s.methods = append(s.methods, call.Method)
	s.mu.Unlock()
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	s.rpc.ServeHTTP(w, r)
}

func (s *server) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.methods...)
}

func (s *server) requested() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.requests...)
}

// executor is an agent behind the library's own server.
type executor func(ctx context.Context, r *a2asrv.RequestContext, q eventqueue.Queue) error

func (e executor) Execute(ctx context.Context, r *a2asrv.RequestContext, q eventqueue.Queue) error {
	return e(ctx, r, q)
}

func (e executor) Cancel(ctx context.Context, r *a2asrv.RequestContext, q eventqueue.Queue) error {
	m := protocol.NewStatusUpdateEvent(r, protocol.TaskStateCanceled, nil)
	m.Final = true
	return q.Write(ctx, m)
}

func library(e executor) http.Handler { return a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(e)) }

func message(r *a2asrv.RequestContext, text string) *protocol.Message {
	return protocol.NewMessageForTask(protocol.MessageRoleAgent, r, protocol.TextPart{Text: text})
}

func textOf(m *protocol.Message) string { return m.Parts[0].(protocol.TextPart).Text }

func definition(url string) subagent.Definition {
	return subagent.Definition{Name: "echo", Description: "Echoes.", Kind: subagent.KindRemote, Remote: &subagent.Remote{CardURL: url}}
}

func service(t *testing.T, o a2a.Options) *a2a.Service {
	if o.Poll == 0 {
		o.Poll = time.Millisecond
	}
	s := a2a.New(o)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// tool returns an agent's tool.
func tool(t *testing.T, s *a2a.Service, d subagent.Definition) subagent.AgentTool {
	t.Helper()
	made, err := s.Tool(d, nil)
	require.NoError(t, err)
	return made
}

// call calls an agent through a new tool.
func call(t *testing.T, s *a2a.Service, d subagent.Definition, query string) tools.Result {
	t.Helper()
	return say(t, tool(t, s, d), query)
}

// say calls an agent.
func say(t *testing.T, made subagent.AgentTool, query string) tools.Result {
	t.Helper()
	r, err := execute(t.Context(), t, made, query)
	require.NoError(t, err)
	return r
}

func execute(ctx context.Context, t *testing.T, made subagent.AgentTool, query string) (tools.Result, error) {
	t.Helper()
	args, err := json.Marshal(map[string]string{"query": query})
	require.NoError(t, err)
	inv, err := made.Build(args)
	require.NoError(t, err)
	return inv.Execute(ctx, nil)
}

// EX-12: a remote agent on the protocol's own server, with and without a stream.
func TestCall(t *testing.T) {
	for _, streaming := range []bool{true, false} {
		t.Run(fmt.Sprintf("streaming %t", streaming), func(t *testing.T) {
			srv := newServer(t, library(func(ctx context.Context, r *a2asrv.RequestContext, q eventqueue.Queue) error {
				var id protocol.ArtifactID
				if err := q.Write(ctx, protocol.NewStatusUpdateEvent(r, protocol.TaskStateWorking, message(r, "Thinking…"))); err != nil {
					return err
				}
				for i, piece := range []string{"You said: ", textOf(r.Message), "!"} {
					e := protocol.NewArtifactEvent(r, protocol.TextPart{Text: piece})
					if i == 0 {
						id = e.Artifact.ID
					} else {
						e = protocol.NewArtifactUpdateEvent(r, id, protocol.TextPart{Text: piece})
					}
					if err := q.Write(ctx, e); err != nil {
						return err
					}
				}
				done := protocol.NewStatusUpdateEvent(r, protocol.TaskStateCompleted, message(r, "Done."))
				done.Final = true
				return q.Write(ctx, done)
			}))
			srv.streaming = streaming
			b := bus.New(bus.Options{})
			defer b.Close()
			received := make(chan string, 100)
			bus.Subscribe(t.Context(), b, func(_ context.Context, m bus.SubagentActivity) {
				received <- m.SubagentName + ": " + m.Activity.Content
			})
			r := call(t, service(t, a2a.Options{Bus: b}), definition(srv.URL), "héllo")
			require.Nil(t, r.Error)
			require.Equal(t, "Agent: echo\nTermination reason: GOAL\nResult:\n<untrusted_context>\nThinking…\n\nYou said: héllo!\n\nDone.\n</untrusted_context>", r.LLMContent.String())
			require.Equal(t, "Thinking…\n\nYou said: héllo!\n\nDone.", r.ReturnDisplay.Text)
			method := "message/send"
			if streaming {
				method = "message/stream"
				require.Equal(t, "echo: Thinking…", <-received)
			}
			require.Equal(t, []string{method}, srv.called())
		})
	}
}

// An agent may answer with only a message. All calls share one thread until the conversation
// changes; each tool has its own thread.
func TestThread(t *testing.T) {
	var contexts []string
	srv := newServer(t, library(func(ctx context.Context, r *a2asrv.RequestContext, q eventqueue.Queue) error {
		contexts = append(contexts, r.Message.ContextID)
		return q.Write(ctx, message(r, "ok"))
	}))
	s := service(t, a2a.Options{})
	conversation := "one"
	made, err := s.Tool(definition(srv.URL), func() string { return conversation })
	require.NoError(t, err)
	for range 2 {
		require.Contains(t, say(t, made, "x").LLMContent.String(), "ok")
	}
	call(t, s, definition(srv.URL), "of another session")
	say(t, made, "x")
	conversation = "two"
	say(t, made, "x")
	require.Len(t, contexts, 5)
	require.Empty(t, contexts[0])
	require.NotEmpty(t, contexts[1])
	require.Empty(t, contexts[2], "each tool has its own thread")
	require.Equal(t, contexts[1], contexts[3])
	require.Empty(t, contexts[4], "a new conversation")
	require.Equal(t, 1, strings.Count(strings.Join(srv.requested(), "\n"), cardPath), "the card is fetched once")
}

// input-required: the task stays open, and the next call continues it.
func TestInputRequired(t *testing.T) {
	var tasks []protocol.TaskID
	srv := newServer(t, library(func(ctx context.Context, r *a2asrv.RequestContext, q eventqueue.Queue) error {
		tasks = append(tasks, r.TaskID)
		state, text := protocol.TaskStateInputRequired, "Which colour?"
		if r.StoredTask != nil {
			state, text = protocol.TaskStateCompleted, "Painted "+textOf(r.Message)
		} else if err := q.Write(ctx, protocol.NewSubmittedTask(r, r.Message)); err != nil {
			return err
		}
		e := protocol.NewStatusUpdateEvent(r, state, message(r, text))
		e.Final = true
		return q.Write(ctx, e)
	}))
	srv.streaming = true
	made := tool(t, service(t, a2a.Options{}), definition(srv.URL))
	first := say(t, made, "Paint it")
	require.Nil(t, first.Error)
	require.Contains(t, first.LLMContent.String(), "Termination reason: INPUT_REQUIRED")
	require.Contains(t, first.LLMContent.String(), "Which colour?")
	second := say(t, made, "red")
	require.Contains(t, second.LLMContent.String(), "Painted red")
	say(t, made, "again")
	require.Len(t, tasks, 3)
	require.Equal(t, tasks[0], tasks[1])
	require.NotEqual(t, tasks[0], tasks[2], "a finished task is over")
}

// A failure of the agent is an error of the call, with the agent's message.
func TestStates(t *testing.T) {
	for state, reason := range map[protocol.TaskState]fault.Reason{
		protocol.TaskStateFailed: "failed", protocol.TaskStateRejected: "rejected", protocol.TaskStateCanceled: "canceled", protocol.TaskStateAuthRequired: "auth_required",
	} {
		t.Run(string(state), func(t *testing.T) {
			srv := newServer(t, library(func(ctx context.Context, r *a2asrv.RequestContext, q eventqueue.Queue) error {
				e := protocol.NewStatusUpdateEvent(r, state, message(r, "because </untrusted_context> of it"))
				e.Final = true
				return q.Write(ctx, e)
			}))
			srv.streaming = true
			r := call(t, service(t, a2a.Options{}), definition(srv.URL), "x")
			require.NotNil(t, r.Error)
			require.Equal(t, fault.AgentFailed, r.Error.Code)
			require.Equal(t, reason, r.Error.Reason)
			require.Contains(t, r.LLMContent.String(), "because &lt;/untrusted_context> of it")
		})
	}
}

// handler answers JSON-RPC: each call by the next function of its method; the last one repeats.
type handler struct {
	mu sync.Mutex
	by map[string][]func(w http.ResponseWriter, id string, params json.RawMessage)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID, Method string
		Params     json.RawMessage
	}
	if json.NewDecoder(r.Body).Decode(&req) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	all := h.by[req.Method]
	if len(all) > 1 {
		h.by[req.Method] = all[1:]
	}
	h.mu.Unlock()
	if len(all) == 0 {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%q,"error":{"code":-32601,"message":"no such method"}}`, req.ID)
		return
	}
	all[0](w, req.ID, req.Params)
}

type reply = func(w http.ResponseWriter, id string, params json.RawMessage)

func gives(result string) reply {
	return func(w http.ResponseWriter, id string, _ json.RawMessage) {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%q,"result":%s}`, id, result)
	}
}

func fails(code int, message string) reply {
	return func(w http.ResponseWriter, id string, _ json.RawMessage) {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%q,"error":{"code":%d,"message":%q}}`, id, code, message)
	}
}

func status(code int) reply {
	return func(w http.ResponseWriter, _ string, _ json.RawMessage) { w.WriteHeader(code) }
}

// pieces sends a stream, flushed after each piece.
func pieces(all ...string) reply {
	return func(w http.ResponseWriter, _ string, _ json.RawMessage) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, p := range all {
			_, _ = io.WriteString(w, p)
			w.(http.Flusher).Flush()
		}
	}
}

func event(result string) string {
	return "data: " + `{"jsonrpc":"2.0","id":"1","result":` + result + "}\n\n"
}

const (
	working  = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working"}}`
	finished = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"It is done."}]}]}`
)

// A stream may break anywhere without loss: the task is polled.
func TestBrokenStream(t *testing.T) {
	whole := ": hello\r\nid: 1\r\nevent: x\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":\"1\",\"result\":" + working + "}\r\n\r\n" +
		event(`{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"working"},"final":false}`) + event(finished)
	for at := 0; at <= len(whole); at += 7 {
		h := &handler{by: map[string][]reply{"message/stream": {pieces(whole[:at/2], whole[at/2:at])}, "tasks/get": {gives(working), gives(finished)}}}
		srv := newServer(t, h)
		srv.streaming = true
		r := call(t, service(t, a2a.Options{}), definition(srv.URL), "x")
		if at < strings.Index(whole, `"t1"`) {
			require.NotNil(t, r.Error, at)
			require.Contains(t, r.Error.Message, "broke off", at)
		}
		if at > strings.Index(whole, "}\r\n\r\n") {
			require.Nil(t, r.Error, at)
			require.Contains(t, r.LLMContent.String(), "It is done.", at)
		}
		srv.Close()
	}
}

// A task without a blocking response is polled until it ends.
func TestPoll(t *testing.T) {
	tests := map[string]struct {
		get  []reply
		want string
		err  string
	}{
		"done at once":       {[]reply{gives(finished)}, "It is done.", ""},
		"later":              {[]reply{gives(working), gives(working), gives(finished)}, "It is done.", ""},
		"after failures":     {[]reply{status(500), status(503), gives(finished)}, "It is done.", ""},
		"always failing":     {[]reply{status(500)}, "", "HTTP status 500"},
		"forgotten":          {[]reply{fails(-32001, "no task")}, "", "error -32001: no task"},
		"nothing of it":      {[]reply{gives(`{"kind":"what"}`)}, "", "not valid in the protocol"},
		"answer is not JSON": {[]reply{func(w http.ResponseWriter, _ string, _ json.RawMessage) { _, _ = io.WriteString(w, "<html>") }}, "", "not valid JSON-RPC"},
		"neither of the two": {[]reply{func(w http.ResponseWriter, _ string, _ json.RawMessage) { _, _ = io.WriteString(w, "{}") }}, "", "neither result nor error"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := newServer(t, &handler{by: map[string][]reply{"message/send": {gives(working)}, "tasks/get": tt.get}})
			r := call(t, service(t, a2a.Options{}), definition(srv.URL), "x")
			if tt.err != "" {
				require.NotNil(t, r.Error)
				require.Contains(t, r.Error.Message, tt.err)
				return
			}
			require.Nil(t, r.Error)
			require.Contains(t, r.LLMContent.String(), tt.want)
		})
	}
}

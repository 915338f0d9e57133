package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
)

const testKey = "sk-ant-api03-SECRETSECRETSECRET"

// api is a server on 127.0.0.1 with the wire format of the Messages API.
type api struct {
	*httptest.Server
	mu       sync.Mutex
	requests []recorded
}

// recorded is a received request.
type recorded struct {
	path   string
	header http.Header
	body   map[string]any
	raw    string
}

func newAPI(t testing.TB, answer http.HandlerFunc) *api {
	t.Helper()
	a := &api{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		rec := recorded{path: r.URL.Path, header: r.Header.Clone(), raw: string(raw)}
		if err != nil || json.Unmarshal(raw, &rec.body) != nil {
			http.Error(w, "no JSON", http.StatusBadRequest)
			return
		}
		a.mu.Lock()
		a.requests = append(a.requests, rec)
		a.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *api) last(t testing.TB) recorded {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	require.NotEmpty(t, a.requests)
	return a.requests[len(a.requests)-1]
}

// newGenerator returns a Generator whose connections end with the test.
func newGenerator(t testing.TB, base string) model.Generator {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	g, err := New(Options{APIKey: testKey, BaseURL: base, HTTPClient: &http.Client{Transport: transport}})
	require.NoError(t, err)
	return g
}

// sse writes events in the format of the API.
func sse(events ...string) string {
	var b strings.Builder
	for _, data := range events {
		var e struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.Type, data)
	}
	return b.String()
}

func stream(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, body)
	}
}

func fail(status int, header map[string]string, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// The events of responses.
const (
	started    = `{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":1}}}`
	ping       = `{"type":"ping"}`
	stopped    = `{"type":"message_stop"}`
	endTurn    = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}}`
	endTools   = `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89,"output_tokens_details":{"thinking_tokens":20}}}`
	exactArgs  = `{"path":"größe/日本.txt","n":9007199254740993,"list":[1.10,{"a":null}],"text":"<&> 😀"}`
	secondArgs = `{}`
)

func textBlock(index int, pieces ...string) []string {
	events := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, index)}
	for _, p := range pieces {
		quoted, _ := json.Marshal(p)
		events = append(events, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%s}}`, index, quoted))
	}
	return append(events, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

func callBlock(index int, id, name string, pieces ...string) []string {
	events := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}}`, index, id, name)}
	for _, p := range append([]string{""}, pieces...) {
		quoted, _ := json.Marshal(p)
		events = append(events, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, index, quoted))
	}
	return append(events, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

func thinkingBlock(index int, signature string, pieces ...string) []string {
	events := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"thinking","thinking":"","signature":""}}`, index)}
	for _, p := range pieces {
		quoted, _ := json.Marshal(p)
		events = append(events, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"thinking_delta","thinking":%s}}`, index, quoted))
	}
	return append(events,
		fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"signature_delta","signature":%q}}`, index, signature),
		fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

func concat(parts ...[]string) []string {
	var all []string
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// fullAnswer returns a response with every kind of content: thoughts, redacted thoughts, texts and
// two calls, in characters of one to four bytes.
func fullAnswer() string {
	return sse(concat(
		[]string{started, ping},
		thinkingBlock(0, "EqQBCgIYAhIM+/=", "Let me ", "think: ä日😀"),
		[]string{
			`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix"}}`,
			`{"type":"content_block_stop","index":1}`,
		},
		textBlock(2, "I read ", "größe — 日本 😀", " now."),
		callBlock(3, "toolu_01A", "read_file", exactArgs[:5], exactArgs[5:17], exactArgs[17:]),
		[]string{ping},
		callBlock(4, "toolu_01B", "list_directory", secondArgs),
		[]string{endTools, stopped},
	)...)
}

func fullResponse() *model.Response {
	return &model.Response{
		ID: "msg_01", Model: "claude-sonnet-5-5",
		Content: model.Content{Role: model.RoleModel, Parts: []model.Part{
			{Text: "Let me think: ä日😀", Thought: true, Signature: []byte("EqQBCgIYAhIM+/="), Provider: Provider},
			{Signature: []byte("EmwKAhgBEgy3va3pzix"), Provider: Provider},
			{Text: "I read größe — 日本 😀 now."},
			{Call: &model.FunctionCall{ID: "toolu_01A", Name: "read_file", Args: json.RawMessage(exactArgs)}},
			{Call: &model.FunctionCall{ID: "toolu_01B", Name: "list_directory", Args: json.RawMessage(secondArgs)}},
		}},
		Finish: model.FinishStop,
		Usage:  model.Usage{Input: 1125, Output: 69, Cached: 1000, Thoughts: 20, Total: 1214},
	}
}

func hello() *model.Request {
	return &model.Request{Model: "claude-sonnet-5-5", Contents: []model.Content{model.UserText("Hello")}}
}

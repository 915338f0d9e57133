package client

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
)

// tap stands between a transport and the SDK and sees each message as text. It
// hands the results of a session's requests over as they are, since the SDK's
// types lose what they do not know: exact numbers, the order of a schema, content
// of kinds that are new, and a whole list for one odd entry. The SDK itself gets
// of them what it needs for its own work.
type tap struct {
	mu      sync.Mutex
	waiting map[string]*capture // by the request's id
	tokens  map[string]*capture // by the progress token
	heard   bool                // the server has said anything

	cancels chan struct{} // holds one for each call that the server was told to cancel
}

// capture is one request of a session's, or the several of a call that the
// server has asked back for.
type capture struct {
	method   string
	progress func(tools.Progress) // nil: nobody is told
	raw      json.RawMessage      // the last result; read when the SDK has returned
	running  atomic.Bool          // the SDK may yet send something
	sent     int                  // how many requests have gone to the server, of tap.mu
	refused  bool                 // the server did not know the session of the last; likewise

	telling sync.Mutex // held while progress runs
	over    bool
}

type captureKey struct{}

func newTap() *tap {
	const most = 1 << 10 // calls that are waited for at Close
	return &tap{waiting: map[string]*capture{}, tokens: map[string]*capture{}, cancels: make(chan struct{}, most)}
}

// expect has the result of the requests that are sent with the ctx it returns
// handed over to c, and the progress of a token, until forget.
func (t *tap) expect(ctx context.Context, c *capture, token string) context.Context {
	if token != "" {
		t.mu.Lock()
		t.tokens[token] = c
		t.mu.Unlock()
	}
	return context.WithValue(ctx, captureKey{}, c)
}

// forget ends what expect has begun. Progress is not told any more when it
// returns. It reports whether the server has certainly begun nothing of it; what is
// still running may yet send something.
func (t *tap) forget(c *capture) (notRun bool) {
	running := c.running.Load()
	t.mu.Lock()
	notRun = c.sent == 0 && !running || c.sent == 1 && c.refused
	for id, w := range t.waiting {
		if w == c {
			delete(t.waiting, id)
		}
	}
	for token, w := range t.tokens {
		if w == c {
			delete(t.tokens, token)
		}
	}
	t.mu.Unlock()
	c.telling.Lock()
	c.over = true
	c.telling.Unlock()
	return notRun
}

// refuse takes note that the server has refused the request that is sent with ctx,
// as it does not know the session.
func (t *tap) refuse(ctx context.Context) {
	if c, ok := ctx.Value(captureKey{}).(*capture); ok {
		t.mu.Lock()
		c.refused = true
		t.mu.Unlock()
	}
}

// delivered takes note of a message that has gone to the server.
func (t *tap) delivered(method string) {
	if method == "notifications/cancelled" {
		select {
		case t.cancels <- struct{}{}:
		default:
		}
	}
}

// unanswered returns how many requests the server has not answered, and forgets
// of which it was told before that they are cancelled.
func (t *tap) unanswered() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		select {
		case <-t.cancels:
		default:
			return min(len(t.waiting), cap(t.cancels))
		}
	}
}

// envelope is what of a message is looked at.
type envelope struct {
	Version json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// keyOf is an id, or a progress token, as the SDK compares it: numbers by the whole
// number that they are, however they are written.
func keyOf(id []byte) string {
	var v any
	if json.Unmarshal(id, &v) == nil {
		if n, ok := v.(float64); ok {
			return strconv.FormatInt(int64(n), 10)
		}
	}
	return string(id)
}

// sent takes note of a message to the server, and returns its id and method, "" for none.
func (t *tap) sent(ctx context.Context, message []byte) (id, method string) {
	var e envelope
	if json.Unmarshal(message, &e) != nil || e.Method == "" || len(e.ID) == 0 {
		return "", e.Method
	}
	if c, ok := ctx.Value(captureKey{}).(*capture); ok && c.method == e.Method {
		t.mu.Lock()
		t.waiting[keyOf(e.ID)] = c
		c.sent++
		t.mu.Unlock()
	}
	return string(e.ID), e.Method
}

// received takes note of a message, or a batch of them, of the server's, and
// returns it as the SDK is to have it.
func (t *tap) received(message []byte) []byte {
	message = bytes.TrimSpace(message)
	t.mu.Lock()
	t.heard = true
	t.mu.Unlock()
	if len(message) > 0 && message[0] == '[' {
		var batch []json.RawMessage
		if json.Unmarshal(message, &batch) != nil || len(batch) == 0 {
			return message
		}
		for i, m := range batch {
			batch[i] = t.received(m)
		}
		return encode(batch)
	}
	var e envelope
	if json.Unmarshal(message, &e) != nil {
		return message
	}
	switch {
	case e.Method == "notifications/progress" && len(e.ID) == 0:
		t.tell(e.Params)
	case e.Method == "elicitation/create" && len(e.ID) > 0:
		e.Params = keepSchema(e.Params)
		return encode(e)
	case e.Method == "" && len(e.ID) > 0 && len(e.Result) > 0:
		t.mu.Lock()
		c := t.waiting[keyOf(e.ID)]
		delete(t.waiting, keyOf(e.ID))
		t.mu.Unlock()
		if c != nil {
			c.raw = e.Result
			e.Result = harmless(c.method, e.Result)
			return encode(e)
		}
	}
	return message
}

// hasHeard reports whether the server has said anything.
func (t *tap) hasHeard() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.heard
}

// tell passes progress on, on the goroutine that reads, so that it comes in
// order and before the result.
func (t *tap) tell(params []byte) {
	var p struct {
		Token   json.RawMessage `json:"progressToken"`
		Done    float64         `json:"progress"`
		Total   float64         `json:"total"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	t.mu.Lock()
	c := t.tokens[keyOf(p.Token)]
	t.mu.Unlock()
	if c == nil || c.progress == nil {
		return
	}
	c.telling.Lock()
	defer c.telling.Unlock()
	defer func() { _ = recover() }() // a listener's mistake is not the server's
	if !c.over {
		c.progress(tools.Progress{Done: p.Done, Total: p.Total, Message: p.Message})
	}
}

// harmless returns what the SDK gets of a result: enough to ask the person back
// and to send what the annotations of a tool's schema say, and nothing that it
// could fail to read.
func harmless(method string, result []byte) []byte {
	if method == methodTools && !mayHaveHeaders(result) {
		return []byte(`{"tools":[]}`) // without reading a list that may be long
	}
	var in struct {
		Type     json.RawMessage            `json:"resultType"`
		Requests map[string]json.RawMessage `json:"inputRequests"`
		State    json.RawMessage            `json:"requestState"`
		Tools    []json.RawMessage          `json:"tools"`
	}
	_ = json.Unmarshal(result, &in) // what cannot be read is not passed on
	out := map[string]any{}
	if in.Requests != nil && (method == methodCall || method == methodRead || method == methodPrompt) {
		for name, request := range in.Requests {
			var r envelope
			if json.Unmarshal(request, &r) == nil && r.Method == "elicitation/create" {
				r.Params = keepSchema(r.Params)
				in.Requests[name] = encode(map[string]any{"method": r.Method, "params": r.Params})
			}
		}
		out["inputRequests"] = in.Requests
		for key, value := range map[string]json.RawMessage{"resultType": in.Type, "requestState": in.State} {
			if len(value) > 0 && value[0] == '"' {
				out[key] = value
			}
		}
	}
	switch method {
	case methodCall:
		out["content"] = []any{}
	case methodTools:
		out["tools"] = bare(in.Tools)
	}
	return encode(out)
}

// bare returns tools with nothing but name and schema, of those that have both and
// may have arguments that go into headers: nothing else of a list matters to the SDK.
func bare(list []json.RawMessage) []any {
	out := []any{}
	for _, raw := range list {
		t, ok := decodeTool(raw)
		if ok && hasSchema(t) && hasHeaders(t) {
			out = append(out, map[string]any{"name": t.Name, "inputSchema": json.RawMessage(t.InputSchema)})
		}
	}
	return out
}

// hasHeaders reports whether arguments of a tool may have to go into headers.
func hasHeaders(t mcp.Tool) bool { return mayHaveHeaders(t.InputSchema) }

// mayHaveHeaders reports whether a text may name the key that says it, also where
// escapes hide that.
func mayHaveHeaders(text []byte) bool {
	return bytes.Contains(text, []byte("x-mcp-header")) || bytes.Contains(text, []byte(`\u`))
}

func hasSchema(t mcp.Tool) bool { return len(t.InputSchema) > 0 && t.InputSchema[0] == '{' }

// encode is json.Marshal without HTML escapes, of what cannot fail.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

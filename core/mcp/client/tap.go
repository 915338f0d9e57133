package client

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// tap stands between a transport and the SDK and sees the text of each message.
// It hands the results of requests to the session unchanged, because the SDK's
// types lose unknown data: exact numbers, the order of a schema, new kinds of
// content, and a whole list for one invalid entry. The SDK receives only the part
// of a result that it needs for its own work.
type tap struct {
	mu      sync.Mutex
	waiting map[string]*capture // by the request's id
	tokens  map[string]*capture // by the progress token
	heard   bool                // the server has sent a message
	late    bool                // the server has not answered server/discover in time

	cancels chan struct{} // receives a value for each call cancelled at the server
	// refuseID answers a request of the server whose id cannot be used; nil: it is dropped.
	refuseID func()
}

// capture is one request of a session, or the sequence of requests of a call with
// elicitations.
type capture struct {
	method   string
	progress func(host.Progress) // nil: dropped
	raw      json.RawMessage     // the last result; read when the SDK has returned
	running  atomic.Bool         // the SDK may still send something
	declined atomic.Bool         // the server did not take the last request
	sent     int                 // number of requests sent to the server, protected by tap.mu
	refused  bool                // the server did not know the session of the last one; likewise

	telling sync.Mutex // held while progress runs
	over    bool
}

type captureKey struct{}

func newTap() *tap {
	const most = 1 << 10 // calls awaited at Close
	return &tap{waiting: map[string]*capture{}, tokens: map[string]*capture{}, cancels: make(chan struct{}, most)}
}

// expect routes the results of requests sent with the returned ctx to c, and the
// progress of the token, until forget.
func (t *tap) expect(ctx context.Context, c *capture, token string) context.Context {
	if token != "" {
		t.mu.Lock()
		t.tokens[token] = c
		t.mu.Unlock()
	}
	return context.WithValue(ctx, captureKey{}, c)
}

// forget ends the routing that expect began. No progress is reported after it has
// returned. It reports whether the server has certainly not begun to run the
// request; a request that is still running may yet be sent.
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

// refuse records that the server refused the request sent with ctx because it
// does not know the session.
func (t *tap) refuse(ctx context.Context) {
	if c, ok := ctx.Value(captureKey{}).(*capture); ok {
		t.mu.Lock()
		c.refused = true
		t.mu.Unlock()
	}
}

// settle records whether the server declined the request sent with ctx.
func (t *tap) settle(ctx context.Context, declined bool) {
	if c, ok := ctx.Value(captureKey{}).(*capture); ok {
		c.declined.Store(declined)
	}
}

// delivered records a message that has been sent to the server.
func (t *tap) delivered(method string) {
	if method == "notifications/cancelled" {
		select {
		case t.cancels <- struct{}{}:
		default:
		}
	}
}

// unanswered returns the number of requests that the server has not answered, and
// resets the record of cancelled ones.
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

// envelope is the part of a message that the tap reads.
type envelope struct {
	Version json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// keyOf returns an id or a progress token in the form in which the SDK compares
// it: numbers by their integer value, however they are written.
func keyOf(id []byte) string {
	var v any
	if json.Unmarshal(id, &v) == nil {
		if n, ok := v.(float64); ok {
			return strconv.FormatInt(int64(n), 10)
		}
	}
	return string(id)
}

// isID reports whether an id is a string, or an integer that the SDK does not change.
func isID(id []byte) bool {
	const most = 1<<53 - 1
	n, err := strconv.ParseInt(strings.TrimSuffix(string(id), ".0"), 10, 64)
	return id[0] == '"' || err == nil && -most <= n && n <= most
}

// sent records a message to the server. It returns the message's id and method,
// "" for none.
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

// received records a message, or a batch of messages, from the server. It returns
// the form that the SDK receives.
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
	case e.Method != "" && len(e.ID) > 0 && !isID(e.ID):
		if t.refuseID != nil {
			t.refuseID()
		}
		e.ID = nil // the SDK ignores a request without one
		return encode(e)
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

// hasHeard reports whether the server has sent a message.
func (t *tap) hasHeard() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.heard
}

func (t *tap) probeLate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.late = true
}

// isProbeLate reports whether the server did not answer server/discover in time.
func (t *tap) isProbeLate() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.late
}

// tell reports progress on the reading goroutine, so that it arrives in order and
// before the result.
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
		c.progress(host.Progress{Done: p.Done, Total: p.Total, Message: p.Message})
	}
}

// harmless returns the part of a result that the SDK receives: enough to handle
// elicitations and to send the headers that a tool's schema requires, and nothing
// that it could fail to decode.
func harmless(method string, result []byte) []byte {
	if method == methodTools && !mayHaveHeaders(result) {
		return []byte(`{"tools":[]}`) // without decoding a list that may be long
	}
	var in struct {
		Type     json.RawMessage            `json:"resultType"`
		Requests map[string]json.RawMessage `json:"inputRequests"`
		State    json.RawMessage            `json:"requestState"`
		Tools    []json.RawMessage          `json:"tools"`
	}
	_ = json.Unmarshal(result, &in) // a malformed result is not passed on
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

// bare returns tools with only name and schema, of the tools that have both and
// whose arguments may go into headers: the SDK needs nothing else of a list.
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

// mayHaveHeaders reports whether a schema may contain the keyword for headers,
// even if escapes disguise it.
func mayHaveHeaders(text []byte) bool {
	return bytes.Contains(text, []byte("x-mcp-header")) || bytes.Contains(text, []byte(`\u`))
}

func hasSchema(t mcp.Tool) bool { return len(t.InputSchema) > 0 && t.InputSchema[0] == '{' }

// encode is json.Marshal without HTML escapes, for values that cannot fail.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

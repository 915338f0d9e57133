package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Methods that the gateway reads. It passes all others on.
const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodCancelled   = "notifications/cancelled"
	methodMessage     = "notifications/message"
	methodProgress    = "notifications/progress"
	methodListen      = "subscriptions/listen"
	methodTools       = "tools/list"
	methodCall        = "tools/call"
	methodElicit      = "elicitation/create"
)

// modern is the first revision without initialize and without requests of the
// server.
const modern = "2026-07-28"

// JSON-RPC codes of the gateway's own answers.
const (
	codeParse   = -32700
	codeRequest = -32600
	codeServer  = -32000 // the server is not available, or did not answer
)

// message is one JSON-RPC message. Keys are compared exactly: other spellings are
// not the protocol's.
type message struct {
	raw    []byte
	fields map[string]json.RawMessage
	id     json.RawMessage            // nil: none
	method string                     // "": a response
	inner  map[string]json.RawMessage // see params
}

// parse decodes one message.
func parse(raw []byte) (*message, error) {
	raw = bytes.TrimSpace(raw)
	if !json.Valid(raw) {
		return nil, errors.New("it is not valid JSON")
	}
	m := &message{raw: raw, fields: members(raw)}
	if m.fields == nil {
		return nil, errors.New("it is not an object")
	}
	m.id = m.fields["id"]
	if method, ok := m.fields["method"]; ok && json.Unmarshal(method, &m.method) != nil {
		return nil, errors.New("its method is not a string")
	}
	return m, nil
}

// isRequest reports whether the message expects a response.
func (m *message) isRequest() bool { return m.method != "" && m.id != nil }

// key returns the id in the form in which ids are compared.
func (m *message) key() string { return idKey(m.id) }

func idKey(id json.RawMessage) string {
	var v any
	if json.Unmarshal(id, &v) == nil {
		switch v := v.(type) {
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		case string:
			return `"` + v
		}
	}
	return string(id)
}

// params returns the members of the params, or nil. They must not be modified.
func (m *message) params() map[string]json.RawMessage {
	if m.inner == nil {
		m.inner = members(m.fields["params"])
	}
	return m.inner
}

// members returns the members of an object of a valid JSON text, or nil for another
// value.
func members(raw json.RawMessage) map[string]json.RawMessage {
	w := walk{in: raw}
	if w.space(); w.at == len(raw) || raw[w.at] != '{' {
		return nil
	}
	f := map[string]json.RawMessage{}
	w.elements(func(key []byte) bool {
		begin := w.at
		w.skip()
		f[text(key)] = raw[begin:w.at:w.at]
		return true
	})
	return f
}

// text returns a string, or "" for another value.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// with returns the message with another member.
func (m *message) with(name string, value json.RawMessage) *message {
	fields := make(map[string]json.RawMessage, len(m.fields)+1)
	for k, v := range m.fields {
		fields[k] = v
	}
	fields[name] = value
	return &message{raw: encode(fields), fields: fields, id: m.id, method: m.method}
}

// encode is json.Marshal without HTML escapes, for values that cannot fail.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// request returns a request, or a notification if id is "".
func request(id, method string, params any) *message {
	fields := map[string]json.RawMessage{"jsonrpc": json.RawMessage(`"2.0"`), "method": encode(method), "params": encode(params)}
	if id != "" {
		fields["id"] = encode(id)
	}
	return &message{raw: encode(fields), fields: fields, id: fields["id"], method: method}
}

// result returns the response with a result.
func result(id json.RawMessage, value any) []byte {
	return encode(map[string]any{"jsonrpc": "2.0", "id": id, "result": value})
}

// failure returns the response with an error. A nil id becomes null.
func failure(id json.RawMessage, code int, text string) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	return encode(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
}

// toolError returns the response to a call that was not run.
func toolError(id json.RawMessage, text string, revision string) []byte {
	r := map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": true}
	if revision >= modern {
		r["resultType"] = "complete"
	}
	return result(id, r)
}

// unclear describes why a server could read the message otherwise than the
// gateway; "" if it cannot. JSON parsers differ on repeated keys, and some ignore
// the case of keys.
func (m *message) unclear() string {
	deep := m.method == methodCall
	for key := range m.fields {
		if odd(key, "jsonrpc", "id", "method", "params", "result", "error") {
			return fmt.Sprintf("its key %q differs only in case from one of JSON-RPC", key)
		}
	}
	if deep {
		for key := range m.params() {
			if odd(key, "name", "arguments") {
				return fmt.Sprintf("its parameter %q differs only in case from one of %s", key, m.method)
			}
		}
	}
	if key, found := repeated(m.raw, deep); found {
		return fmt.Sprintf("its key %q is repeated", key)
	}
	return ""
}

func odd(key string, known ...string) bool {
	return slices.ContainsFunc(known, func(k string) bool { return key != k && strings.EqualFold(key, k) })
}

// repeated returns a key that occurs twice in one object: of the envelope only, or
// at any depth.
func repeated(raw []byte, deep bool) (key string, found bool) {
	w := walk{in: raw}
	return w.repeated(1, deep)
}

// repeated visits the value that begins at w.at, at a depth of objects.
func (w *walk) repeated(depth int, deep bool) (key string, found bool) {
	keys := map[string]bool{}
	w.elements(func(name []byte) bool {
		if name != nil && (deep || depth == 1) {
			key = text(name)
			if depth <= 2 { // of the envelope, or of the parameters
				key = folded(key)
			}
			if found = keys[key]; found {
				return false
			}
			keys[key] = true
		}
		if deep || depth == 1 {
			key, found = w.repeated(depth+1, deep)
		} else {
			w.skip()
		}
		return !found
	})
	return key, found
}

// folded returns the form of a key that all its spellings share.
func folded(key string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, key)
}

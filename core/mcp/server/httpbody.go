package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// body reads a request's body before any resource is reserved for it, so that an
// unfinished request occupies only its connection. It reports false if it has
// answered the request: the body is not a message or a batch of messages.
func (h *handler) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(h.srv.o.RequestBytes)))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, "the request's body is too large", http.StatusRequestEntityTooLarge)
		return nil, false
	}
	if err != nil {
		http.Error(w, "the request's body cannot be read", http.StatusBadRequest)
		return nil, false
	}
	if !json.Valid(body) {
		answerError(w, nil, jsonrpc.CodeParseError, "The body is not one JSON value.")
		return nil, false
	}
	all, _ := members(body)
	if len(all) == 0 {
		answerError(w, nil, jsonrpc.CodeInvalidRequest, "The batch is empty.")
		return nil, false
	}
	for _, one := range all {
		if _, err := decodeMessage(one); err != nil {
			answerError(w, readableID(one), jsonrpc.CodeInvalidRequest, refusalOf(err))
			return nil, false
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, true
}

// members returns the messages in a body, and whether it is a batch.
func members(body []byte) (all []json.RawMessage, batch bool) {
	if bytes.TrimSpace(body)[0] != '[' {
		return []json.RawMessage{body}, false
	}
	_ = json.Unmarshal(body, &all) // valid JSON
	return all, true
}

// answerError answers a request over HTTP with an error. id is in JSON; nil: null.
func answerError(w http.ResponseWriter, id json.RawMessage, code int64, message string) {
	text, err := refusal(id, code, message)
	if err != nil {
		http.Error(w, message, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(text)
}

// begins refuses calls that require a session and name none; the SDK refuses
// other requests that do not begin a session.
func begins(w http.ResponseWriter, r *http.Request, body []byte) bool {
	m, err := jsonrpc.DecodeMessage(body)
	call, ok := m.(*jsonrpc.Request)
	if err != nil || !ok || !call.IsCall() || r.Header.Get(revisionHeader) >= revision2026 {
		return true
	}
	switch call.Method {
	case "initialize", "server/discover", "ping":
		return true
	}
	answerError(w, readableID(body), errNoSession.Code, errNoSession.Message)
	return false
}

// method describes a method of the protocol.
type method struct {
	notification bool
	params       bool // it requires parameters
}

// methods are the methods that clients may use.
var methods = map[string]method{
	"completion/complete": {params: true}, "initialize": {params: true}, "logging/setLevel": {params: true}, "ping": {},
	"prompts/get": {params: true}, "prompts/list": {}, "resources/list": {}, "resources/read": {params: true},
	"resources/subscribe": {params: true}, "resources/templates/list": {}, "resources/unsubscribe": {params: true},
	"server/discover": {}, "subscriptions/listen": {params: true}, "tools/call": {params: true}, "tools/list": {},
	"notifications/cancelled": {notification: true}, "notifications/initialized": {notification: true},
	"notifications/progress": {notification: true, params: true}, "notifications/roots/list_changed": {notification: true},
}

// refusedMethod is the method of calls that screen refuses. The SDK writes it into the
// error for an unknown method.
const refusedMethod = "the requested method"

// refusedParams are the parameters of such a call: the error to answer with.
type refusedParams struct {
	sdk.ParamsBase
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

// screen replaces each call that the SDK would refuse together with its HTTP request, and with
// its batch, by a call that is answered with an error. It drops such notifications, as over stdio. It
// reports false if nothing is left, and then has answered the request. The SDK
// answers requests of revision 2026-07-28 itself.
func screen(w http.ResponseWriter, r *http.Request, body []byte) bool {
	if r.Header.Get(revisionHeader) >= revision2026 {
		return true
	}
	all, batch := members(body)
	left := make([]json.RawMessage, 0, len(all))
	changed := false
	for _, one := range all {
		replaced := screened(one)
		changed = changed || !bytes.Equal(replaced, one)
		if replaced != nil {
			left = append(left, replaced)
		}
	}
	switch {
	case !changed:
		return true
	case len(left) == 0:
		w.WriteHeader(http.StatusAccepted)
		return false
	}
	text := []byte(left[0])
	if batch {
		text, _ = json.Marshal(left) // valid JSON
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return true
}

// screened returns a message as the SDK receives it; nil: not at all.
func screened(text []byte) []byte {
	m, err := decodeMessage(text)
	r, ok := m.(*jsonrpc.Request)
	if err != nil || !ok {
		return text
	}
	p := refusedParams{}
	switch spec, known := methods[r.Method]; {
	case known && spec.notification == !r.IsCall() && (!spec.params || len(r.Params) > 0):
		return text
	case !r.IsCall():
		return nil
	case !known:
		p.Code = jsonrpc.CodeMethodNotFound // the SDK has a message
	case spec.notification:
		p.Code, p.Message = jsonrpc.CodeInvalidRequest, r.Method+" is a notification, which has no ID."
	default:
		p.Code, p.Message = jsonrpc.CodeInvalidParams, "The parameters of "+r.Method+" are missing."
	}
	params, err := json.Marshal(map[string]any{"code": p.Code, "message": p.Message})
	if err != nil {
		return text
	}
	replaced, err := jsonrpc.EncodeMessage(&jsonrpc.Request{ID: r.ID, Method: refusedMethod, Params: params})
	if err != nil {
		return text
	}
	return replaced
}

// acceptRefused makes the SDK answer the calls that screen refuses.
func (s *session) acceptRefused() {
	_ = sdk.AddReceivingCustomMethod(s.sdk, refusedMethod, func(_ context.Context, _ *sdk.ServerSession, p *refusedParams) (*directResult, error) { // no standard method has the name
		if p == nil {
			return nil, errInternal
		}
		return nil, &jsonrpc.Error{Code: p.Code, Message: p.Message}
	})
}

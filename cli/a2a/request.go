package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	protocol "github.com/a2aproject/a2a-go/a2a"
)

// maxID is the largest number of a request's ID. The SDK would change larger ones and fractions.
const maxID = 1<<53 - 1

// request is the form of a JSON-RPC request.
type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// paramsOf checks the parameters of each method that has some.
var paramsOf = map[string]func(json.RawMessage) error{
	"message/send":                        decodes[protocol.MessageSendParams],
	"message/stream":                      decodes[protocol.MessageSendParams],
	"tasks/get":                           decodes[protocol.TaskQueryParams],
	"tasks/cancel":                        decodes[protocol.TaskIDParams],
	"tasks/resubscribe":                   decodes[protocol.TaskIDParams],
	"tasks/pushNotificationConfig/get":    decodes[protocol.GetTaskPushConfigParams],
	"tasks/pushNotificationConfig/list":   decodes[protocol.ListTaskPushConfigParams],
	"tasks/pushNotificationConfig/set":    decodes[protocol.TaskPushConfig],
	"tasks/pushNotificationConfig/delete": decodes[protocol.DeleteTaskPushConfigParams],
}

// decodes reports why parameters do not have the type P.
func decodes[P any](raw json.RawMessage) error {
	var p P
	return json.Unmarshal(raw, &p)
}

// checked answers requests that are malformed, and passes the others on. The SDK would answer all
// of them with a parse error, or not notice what follows the request.
func checked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			refuseRequest(w, nil, -32700, protocol.ErrParseError, err)
			return
		}
		if id, code, class, err := check(body); err != nil {
			refuseRequest(w, id, code, class, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// check returns how a malformed request is answered; err is nil for any other.
func check(body []byte) (id json.RawMessage, code int, class, err error) {
	if !json.Valid(body) {
		return nil, -32700, protocol.ErrParseError, errors.New("the body is not one JSON value")
	}
	var q request
	err = json.Unmarshal(body, &q) // it reads all fields that have the right type
	if validID(q.ID) {
		id = q.ID
	}
	switch {
	case err != nil:
	case !validID(q.ID):
		err = errors.New("the id must be a string, or an integer between -9007199254740991 and 9007199254740991")
	case q.Version != "2.0":
		err = errors.New(`jsonrpc must be "2.0"`)
	case q.Method == nil:
		err = errors.New("the method is missing")
	}
	if err != nil {
		return id, -32600, protocol.ErrInvalidRequest, err
	}
	if decode, ok := paramsOf[*q.Method]; ok {
		if err = decode(q.Params); err != nil {
			return id, -32602, protocol.ErrInvalidParams, err
		}
	}
	return id, 0, nil, nil
}

// validID reports whether an ID is absent, null, a string, or an integer of at most maxID.
func validID(raw json.RawMessage) bool {
	if len(raw) == 0 || raw[0] == '"' || string(raw) == "null" {
		return true
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && -maxID <= n && n <= maxID
}

// refuseRequest answers a request with an error, in the form of the SDK.
func refuseRequest(w http.ResponseWriter, id json.RawMessage, code int, class, err error) {
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client has gone
		"jsonrpc": "2.0", "id": id,
		"error": map[string]any{"code": code, "message": class.Error(), "data": map[string]any{"error": err.Error()}},
	})
}

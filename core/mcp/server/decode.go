package server

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/segmentio/encoding/json"
)

// sdkDepth is the number of nested arrays and objects that the SDK accepts.
const sdkDepth = 1000

// maxID is the largest number of an ID. The SDK changes larger ones and fractions,
// as other programs do that store numbers as floating point.
const maxID = 1<<53 - 1

// errID reports an ID that is neither a string nor an integer of at most maxID.
var errID = errors.New("the ID is neither a string nor an integer between -9007199254740991 and 9007199254740991")

// exact are options to decode JSON as the SDK does.
const exact = json.ZeroCopy | json.DontMatchCaseInsensitiveStructFields

// decodeMessage decodes valid JSON as jsonrpc.DecodeMessage does, but returns errID for
// an ID that the SDK would change, and for null. The messages that
// arrive most often, requests, are decoded by the SDK's own parser but without its two
// buffers of 32 KiB. The message aliases text.
func decodeMessage(text []byte) (jsonrpc.Message, error) {
	if r := decodeRequest(text); r != nil {
		return r, nil
	}
	if _, ok := parseID(rawID(text)); !ok {
		return nil, errID
	}
	return jsonrpc.DecodeMessage(text)
}

// decodeRequest returns nil for any other message, and for one that may be invalid.
func decodeRequest(text []byte) *jsonrpc.Request {
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) > sdkDepth {
		return nil
	}
	rest, err := json.Parse(text, &m, exact)
	if err != nil || len(rest) > 0 || m.Version != "2.0" || m.Method == nil || m.Result != nil || m.Error != nil {
		return nil
	}
	id, ok := parseID(m.ID)
	if !ok {
		return nil
	}
	return &jsonrpc.Request{ID: id, Method: *m.Method, Params: m.Params}
}

// rawID returns the ID of a message in JSON, nil if it has none.
func rawID(text []byte) json.RawMessage {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if _, err := json.Parse(text, &m, exact); err != nil {
		return nil
	}
	return m.ID
}

// parseID parses an ID; none is valid. An integer may end with ".0".
func parseID(raw json.RawMessage) (id jsonrpc.ID, ok bool) {
	if len(raw) == 0 {
		return id, true
	}
	var value any
	if raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return id, false
		}
		value = s
	} else {
		n, err := strconv.ParseInt(strings.TrimSuffix(string(raw), ".0"), 10, 64)
		if err != nil || n > maxID || n < -maxID {
			return id, false
		}
		value = float64(n)
	}
	id, err := jsonrpc.MakeID(value)
	return id, err == nil
}

// readableID returns the ID of a refused message, in JSON: a string, or an integer of 64
// bits without its ".0", and otherwise nil.
func readableID(text []byte) []byte {
	raw := rawID(text)
	if len(raw) == 0 {
		return nil
	}
	if raw[0] == '"' {
		return raw
	}
	digits := strings.TrimSuffix(string(raw), ".0") // as parseID does
	if _, err := strconv.ParseInt(digits, 10, 64); err != nil {
		return nil
	}
	return []byte(digits)
}

// refusalOf returns the sentence for an error of decodeMessage.
func refusalOf(err error) string {
	if errors.Is(err, errID) {
		return "The ID must be a string, or an integer between -9007199254740991 and 9007199254740991."
	}
	return "This is not a JSON-RPC message."
}

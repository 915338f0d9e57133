package server

import (
	"bytes"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/segmentio/encoding/json"
)

// sdkDepth is the number of nested arrays and objects that the SDK accepts.
const sdkDepth = 1000

// decodeMessage decodes valid JSON as jsonrpc.DecodeMessage does. The messages that
// arrive most often, requests, are decoded by the SDK's own parser but without its two
// buffers of 32 KiB. The message aliases text.
func decodeMessage(text []byte) (jsonrpc.Message, error) {
	if r := decodeRequest(text); r != nil {
		return r, nil
	}
	return jsonrpc.DecodeMessage(text)
}

// decodeRequest returns nil for any other message, and for one that may be invalid.
func decodeRequest(text []byte) *jsonrpc.Request {
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      any             `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) > sdkDepth {
		return nil
	}
	rest, err := json.Parse(text, &m, json.ZeroCopy|json.DontMatchCaseInsensitiveStructFields)
	if err != nil || len(rest) > 0 || m.Version != "2.0" || m.Method == nil || m.Result != nil || m.Error != nil {
		return nil
	}
	id, err := jsonrpc.MakeID(m.ID)
	if err != nil {
		return nil
	}
	return &jsonrpc.Request{ID: id, Method: *m.Method, Params: m.Params}
}

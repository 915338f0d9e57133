package server

import (
	"context"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/segmentio/encoding/json"
)

// directCall is a tools/call whose parameters the connection has decoded, and whose
// response it writes as the session has encoded it. The SDK would decode the parameters
// twice, with a buffer of 32 KiB each time, and encode the result three times. It
// receives the call as a request of another method without parameters, and returns a
// directResult.
type directCall struct {
	conn   *lines
	id     jsonrpc.ID
	params *sdk.CallToolParamsRaw
}

// directKey is the key of a *directCall in the extra data of a request. A client
// cannot send such data.
const directKey = "fettle/direct-call"

// directParams are the parameters of a direct call in the SDK; always nil.
type directParams struct{ sdk.ParamsBase }

// directResult is the result of a direct call in the SDK: the key of the encoded
// response in [lines]. It is a number, which the result of no other request is.
type directResult struct {
	sdk.ResultBase
	key string
}

// MarshalJSON returns the key.
func (r *directResult) MarshalJSON() ([]byte, error) { return []byte(r.key), nil }

// direct replaces a tools/call by a direct call after the negotiation of a revision
// before 2026-07-28. The SDK answers parameters that it refuses, and metadata that
// selects a revision.
func (c *lines) direct(r *jsonrpc.Request) {
	if r.Method != "tools/call" || !r.IsCall() || c.method == "" {
		return
	}
	if v := c.revision(); v == "" || v >= revision2026 {
		return
	}
	var p *sdk.CallToolParamsRaw
	rest, err := json.Parse(r.Params, &p, json.DontMatchCaseInsensitiveStructFields) // as the SDK decodes them
	if err != nil || len(rest) > 0 || p == nil {
		return
	}
	if _, ok := p.Meta[sdk.MetaKeyProtocolVersion]; ok {
		return
	}
	r.Method, r.Params = c.method, nil
	r.Extra = &sdk.RequestExtra{TokenInfo: &auth.TokenInfo{Extra: map[string]any{directKey: &directCall{c, r.ID, p}}}}
}

// acceptDirect makes the SDK route direct calls to receive.
func (s *session) acceptDirect(method string) error {
	if method == "" {
		return nil
	}
	return sdk.AddReceivingCustomMethod(s.sdk, method, func(context.Context, *sdk.ServerSession, *directParams) (*directResult, error) {
		return nil, errInternal // receive has answered
	})
}

// callDirect answers a direct call.
func (s *session) callDirect(ctx context.Context, method string, r *sdk.ServerRequest[*directParams]) (sdk.Result, error) {
	var d *directCall
	if r.Extra != nil && r.Extra.TokenInfo != nil {
		d, _ = r.Extra.TokenInfo.Extra[directKey].(*directCall)
	}
	if d == nil {
		return nil, errNotOffered(method) // a client has sent it
	}
	res, err := s.callTool(ctx, &sdk.CallToolRequest{Session: r.Session, Params: d.params})
	full, ok := res.(*sdk.CallToolResult)
	if err != nil || !ok || d.conn.revision() >= revision2026 { // the client may have selected another revision meanwhile
		return res, err
	}
	text, err := encodeCall(d.id, full)
	if err != nil {
		return nil, err
	}
	return d.conn.keepEncoded(text), nil
}

// keepEncoded keeps an encoded response until the SDK writes its result.
func (c *lines) keepEncoded(text []byte) *directResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys++
	key := strconv.FormatUint(c.keys, 10)
	c.encoded[key] = text
	return &directResult{key: key}
}

// encode returns the line of a message.
func (c *lines) encode(m jsonrpc.Message) ([]byte, error) {
	const longest = 20 // digits of a key
	if r, ok := m.(*jsonrpc.Response); ok && r.Error == nil && len(r.Result) <= longest {
		c.mu.Lock()
		text, ok := c.encoded[string(r.Result)]
		if ok {
			delete(c.encoded, string(r.Result))
		}
		c.mu.Unlock()
		if ok {
			return text, nil
		}
	}
	return jsonrpc.EncodeMessage(m)
}

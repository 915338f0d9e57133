package server

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/segmentio/encoding/json"
)

// directCall is a tools/call whose parameters the connection has decoded. The SDK
// would decode them twice, with a buffer of 32 KiB each time. It receives the call as
// a request of another method without parameters; see [lines.direct].
type directCall struct {
	params *sdk.CallToolParamsRaw
}

// directKey is the key of a *directCall in the extra data of a request. A client
// cannot send such data.
const directKey = "fettle/direct-call"

// directParams are the parameters of a direct call in the SDK; always nil.
type directParams struct{ sdk.ParamsBase }

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
	r.Extra = &sdk.RequestExtra{TokenInfo: &auth.TokenInfo{Extra: map[string]any{directKey: &directCall{p}}}}
}

// acceptDirect makes the SDK route direct calls to receive.
func (s *session) acceptDirect(method string) error {
	if method == "" {
		return nil
	}
	return sdk.AddReceivingCustomMethod(s.sdk, method, func(context.Context, *sdk.ServerSession, *directParams) (*sdk.CallToolResult, error) {
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
	return s.callTool(ctx, &sdk.CallToolRequest{Session: r.Session, Params: d.params})
}

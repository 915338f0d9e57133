package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// codeNotFound is the code for an unknown resource in revisions before
// 2026-07-28; later ones use invalid params.
const codeNotFound = -32002

// Errors of the protocol that contain no more than their class.
var (
	errInternal  = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "The server failed; its log has details."}
	errCancelled = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "The request was cancelled."}
	errNoSession = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "There is no session yet; send initialize first."}
	errEnded     = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "The session has ended."}
)

// errInvalid returns the error for invalid params.
func errInvalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// errNotOffered returns the error for a method that the Service does not offer.
func errNotOffered(method string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "This server does not offer " + method + "."}
}

// wire converts err into an error of the protocol. A fault is sent completely.
// Other errors are only logged.
func (s *session) wire(ctx context.Context, method string, err error) error {
	if w := (*jsonrpc.Error)(nil); errors.As(err, &w) {
		return err // the SDK reads the code from it
	}
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		data, _ := json.Marshal(f)
		return &jsonrpc.Error{Code: wireCode(f.Code), Message: f.Line(), Data: data}
	}
	if ctx.Err() != nil {
		return errCancelled
	}
	s.srv.log.Error("a request failed", "method", method, "error", err)
	return errInternal
}

// wireCode returns the protocol's code for a fault: a mistake of the client, or
// an internal error.
func wireCode(c fault.Code) int64 {
	switch c {
	case fault.InvalidToolParams, fault.FileNotFound, fault.ToolNotRegistered, fault.PathNotInWorkspace:
		return jsonrpc.CodeInvalidParams
	}
	return jsonrpc.CodeInternalError
}

// notFound returns the error for an unknown resource.
func notFound(uri string, modern bool, f *fault.Error) error {
	code := int64(codeNotFound)
	if modern {
		code = jsonrpc.CodeInvalidParams
	}
	data, _ := json.Marshal(map[string]any{"uri": uri})
	return &jsonrpc.Error{Code: code, Message: f.Line(), Data: data}
}

// lacks returns the error for a request that requires a capability which the
// client has not declared (revision 2026-07-28).
func lacks(capability lacking, f *fault.Error) error {
	data, _ := json.Marshal(map[string]any{"requiredCapabilities": map[string]any{string(capability): map[string]any{}}})
	return &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: f.Line(), Data: data}
}

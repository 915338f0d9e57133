package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools/host"
)

//lint:file-ignore SA1019 roots and logs are the protocol's until servers have moved on

// logLevel is the minimum level of the log messages requested from a server.
const logLevel = "info"

// newClient returns the SDK's client of this session. It declares only
// capabilities for which a handler exists.
func (s *session) newClient() *sdk.Client {
	o := &sdk.ClientOptions{Logger: maskedLogger(s.d.o.Logger, s.mask), Capabilities: &sdk.ClientCapabilities{}}
	if f := s.h.Changed; f != nil {
		o.ToolListChangedHandler = func(context.Context, *sdk.ToolListChangedRequest) { f(mcp.Change{Tools: true}) }
		o.ResourceListChangedHandler = func(context.Context, *sdk.ResourceListChangedRequest) { f(mcp.Change{Resources: true}) }
		o.PromptListChangedHandler = func(context.Context, *sdk.PromptListChangedRequest) { f(mcp.Change{Prompts: true}) }
		o.ResourceUpdatedHandler = func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			if r.Params != nil {
				f(mcp.Change{Resource: r.Params.URI})
			}
		}
	}
	if f := s.h.Log; f != nil {
		o.LoggingMessageHandler = func(_ context.Context, r *sdk.LoggingMessageRequest) {
			if r.Params != nil {
				f(host.LogEntry{Level: host.LogLevel(r.Params.Level), Logger: r.Params.Logger, Data: json.RawMessage(encode(r.Params.Data))})
			}
		}
	}
	if s.h.Elicit != nil {
		o.ElicitationHandler = s.elicit
		o.Capabilities.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}
	}
	if s.h.Roots != nil {
		o.Capabilities.RootsV2 = &sdk.RootCapabilities{ListChanged: true}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: s.d.o.Name, Version: s.d.o.Version}, o)
	client.AddReceivingMiddleware(s.receive)
	s.client = client
	if s.h.Roots != nil {
		s.tellRoots() // for calls with elicitations; no server is connected yet
	}
	return client
}

// codeUnsupported is the SDK's code for a method without a handler, which is no code of
// JSON-RPC.
const codeUnsupported = -31001

// receive is the middleware for requests and notifications of the server: it
// answers messages that the SDK cannot handle with an error, and refreshes the
// roots.
func (s *session) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.d.o.Logger.WarnContext(ctx, "mcp: a message of a server could not be handled", "server", s.name, "method", method)
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the message cannot be handled"}
			}
		}()
		if method != "roots/list" {
			result, err = next(ctx, method, r)
			if answer := (*jsonrpc.Error)(nil); errors.As(err, &answer) && answer.Code == codeUnsupported {
				err = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: answer.Message}
			}
			return result, err
		}
		if s.h.Roots == nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client has no roots"}
		}
		return &sdk.ListRootsResult{Roots: rootsOf(s.h.Roots())}, nil
	}
}

// begin requests the server's log after connecting. The session does not depend
// on its success.
func (s *session) begin(ctx context.Context) {
	if !s.logs || s.info.Protocol >= newProtocol {
		return // there the level is part of each call
	}
	const short = 5 * time.Second
	_ = s.run(ctx, short, "logging/setLevel", func(ctx context.Context) error {
		return s.sdk.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: logLevel})
	})
}

// tellRoots passes the current roots to the SDK, which notifies the server.
func (s *session) tellRoots() {
	s.roots.Lock()
	defer s.roots.Unlock()
	var uris []string
	now := rootsOf(s.h.Roots())
	for _, r := range now {
		uris = append(uris, r.URI)
	}
	var gone []string
	for _, uri := range s.rootURIs {
		if !slices.Contains(uris, uri) {
			gone = append(gone, uri)
		}
	}
	s.rootURIs = uris
	if len(gone) > 0 {
		s.client.RemoveRoots(gone...)
	}
	s.client.AddRoots(now...)
}

// rootsOf converts directories into roots of the protocol.
func rootsOf(dirs []string) []*sdk.Root {
	roots := []*sdk.Root{} // not null
	for _, dir := range dirs {
		path := filepath.ToSlash(dir)
		if !strings.HasPrefix(path, "/") {
			path = "/" + path // of a drive
		}
		roots = append(roots, &sdk.Root{URI: (&url.URL{Scheme: "file", Path: path}).String(), Name: filepath.Base(dir)})
	}
	return roots
}

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Revisions of the protocol at which behaviour changes.
const (
	revision2025 = "2025-11-25" // the last that begins with initialize
	revision2026 = "2026-07-28" // no sessions, no requests to the client
)

// logLevels are the levels of the protocol.
var logLevels = []sdk.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} //lint:ignore SA1019 older revisions have them

// anyObject is the schema of any object.
var anyObject = json.RawMessage(`{"type":"object"}`)

// options returns the options of the session's SDK server. They announce the
// features of all Services; receive removes those that this Service does not
// offer.
func (s *session) options() *sdk.ServerOptions {
	return &sdk.ServerOptions{
		Logger:       s.srv.sdkLog,
		GetSessionID: func() string { return s.id },
		Capabilities: capabilities(&mcpservice.Service{
			Resources: func(context.Context) ([]mcp.Resource, error) { return nil, nil },
			Read:      func(context.Context, string) ([]tools.Resource, error) { return nil, nil },
			Prompts:   func(context.Context) ([]mcp.Prompt, error) { return nil, nil },
			Complete:  func(context.Context, mcpservice.Completion) ([]string, error) { return nil, nil },
			Watch:     func(func(mcp.Change)) func() { return nil },
			Updates:   true,
		}),
		SubscribeHandler: func(_ context.Context, r *sdk.SubscribeRequest) error { return s.subscribe(r.Params.URI) },
		UnsubscribeHandler: func(_ context.Context, r *sdk.UnsubscribeRequest) error {
			s.unsubscribe(r.Params.URI)
			return nil
		},
	}
}

// capabilities returns the capabilities of a Service.
func capabilities(svc *mcpservice.Service) *sdk.ServerCapabilities {
	watched := svc.Watch != nil
	c := &sdk.ServerCapabilities{
		Logging: &sdk.LoggingCapabilities{}, //lint:ignore SA1019 older revisions have it
		Tools:   &sdk.ToolCapabilities{ListChanged: watched},
	}
	if svc.Resources != nil || svc.Templates != nil || svc.Read != nil {
		c.Resources = &sdk.ResourceCapabilities{ListChanged: watched, Subscribe: watched && svc.Updates && svc.Read != nil}
	}
	if svc.Prompts != nil {
		c.Prompts = &sdk.PromptCapabilities{ListChanged: watched}
	}
	if svc.Complete != nil {
		c.Completions = &sdk.CompletionCapabilities{}
	}
	return c
}

// receive is the middleware that answers the client's requests from the Service.
// The SDK handles the rest of the protocol: initialization, subscriptions, log
// levels, pings.
func (s *session) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				s.srv.log.Error("a request panicked", "method", method, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				res, err = nil, errInternal
			}
			if err != nil {
				res, err = nil, s.wire(ctx, method, err)
			}
		}()
		switch r := req.(type) {
		case *sdk.ServerRequest[*sdk.InitializeParams]:
			return s.initialize(ctx, r, next)
		case *sdk.ServerRequest[*sdk.DiscoverParams]:
			return s.discover(ctx, r, next)
		case *sdk.ListToolsRequest:
			return with(s, ctx, r, s.listTools)
		case *sdk.CallToolRequest:
			return s.callTool(ctx, r)
		case *sdk.ServerRequest[*directParams]:
			sent := method
			method = "tools/call" // for the log
			return s.callDirect(ctx, sent, r)
		case *sdk.ListResourcesRequest:
			return with(s, ctx, r, s.listResources)
		case *sdk.ListResourceTemplatesRequest:
			return with(s, ctx, r, s.listTemplates)
		case *sdk.ReadResourceRequest:
			return s.readResource(ctx, r)
		case *sdk.ListPromptsRequest:
			return with(s, ctx, r, s.listPrompts)
		case *sdk.GetPromptRequest:
			return s.getPrompt(ctx, r)
		case *sdk.CompleteRequest:
			return with(s, ctx, r, s.complete)
		case *sdk.SubscribeRequest:
			return with(s, ctx, r, func(ctx context.Context, svc *mcpservice.Service, r *sdk.SubscribeRequest) (sdk.Result, error) {
				if c := capabilities(svc).Resources; c == nil || !c.Subscribe {
					return nil, errNotOffered(method)
				}
				// Only Read can tell whether the resource exists. A resource that
				// cannot be read at the moment exists.
				_, err := svc.Read(ctx, r.Params.URI)
				if f := faultOf(err); f != nil && f.Code == fault.FileNotFound {
					return nil, notFound(r.Params.URI, r.ProtocolVersion() >= revision2026, f)
				}
				return next(ctx, method, req)
			})
		case *sdk.ServerRequest[*sdk.SetLoggingLevelParams]: //lint:ignore SA1019 older revisions have it
			if !slices.Contains(logLevels, r.Params.Level) {
				return nil, errInvalid("There is no log level " + clip(string(r.Params.Level)) + ".")
			}
		case *sdk.SubscriptionsListenRequest:
			return s.listen(ctx, r, next)
		}
		return next(ctx, method, req)
	}
}

// with calls answer with the Service.
func with[P sdk.Params](s *session, ctx context.Context, r *sdk.ServerRequest[P],
	answer func(context.Context, *mcpservice.Service, *sdk.ServerRequest[P]) (sdk.Result, error),
) (sdk.Result, error) {
	svc, err := s.service(ctx, r.ClientInfo())
	if err != nil {
		return nil, err
	}
	return answer(ctx, svc, r)
}

// initialize begins a session of the older revisions.
func (s *session) initialize(ctx context.Context, r *sdk.ServerRequest[*sdk.InitializeParams], next sdk.MethodHandler) (sdk.Result, error) {
	if r.Session.InitializeParams() != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "The session is already initialized; start a new one to negotiate again."}
	}
	svc, err := s.service(ctx, r.Params.ClientInfo)
	if err != nil {
		return nil, err
	}
	// A client that requests an unknown revision, or one without initialize, is
	// offered the last revision with initialize.
	if v := r.Params.ProtocolVersion; v >= revision2026 || !slices.Contains(sdk.SupportedProtocolVersions(), v) {
		r.Params.ProtocolVersion = revision2025
	}
	s.connected(r.Session)
	res, err := next(ctx, "initialize", r)
	if err != nil {
		return nil, err
	}
	if i, ok := res.(*sdk.InitializeResult); ok {
		offered := *svc
		if s.stateless {
			offered.Watch = nil // such a client cannot receive notifications
		}
		i.Capabilities, i.Instructions = capabilities(&offered), svc.Instructions
	}
	if !s.stateless {
		s.startWatch(svc)
	}
	if s.begun != nil {
		s.begun(r.Session)
	}
	return res, nil
}

// discover answers with the server's features, as initialize does. Clients of revision
// 2026-07-28 start with it; those of a server with sessions over HTTP continue with
// initialize.
func (s *session) discover(ctx context.Context, r *sdk.ServerRequest[*sdk.DiscoverParams], next sdk.MethodHandler) (sdk.Result, error) {
	res, err := next(ctx, "server/discover", r)
	if err != nil {
		return nil, err
	}
	d, ok := res.(*sdk.DiscoverResult)
	if !ok {
		return res, nil
	}
	svc, err := s.service(ctx, r.ClientInfo())
	if err != nil {
		return nil, err
	}
	if slices.Contains(d.SupportedVersions, revision2026) {
		s.connected(r.Session)
	}
	d.Capabilities, d.Instructions = capabilities(svc), svc.Instructions
	d.Cacheable = cache(svc)
	return res, nil
}

// listen notifies a client of revision 2026-07-28 of changes.
func (s *session) listen(ctx context.Context, r *sdk.SubscriptionsListenRequest, next sdk.MethodHandler) (sdk.Result, error) {
	svc, err := s.service(ctx, r.ClientInfo())
	if err != nil {
		return nil, err
	}
	s.connected(r.Session)
	if n := r.Params.Notifications; n != nil {
		c := capabilities(svc)
		n.ToolsListChanged = n.ToolsListChanged && c.Tools.ListChanged
		n.PromptsListChanged = n.PromptsListChanged && c.Prompts != nil && c.Prompts.ListChanged
		n.ResourcesListChanged = n.ResourcesListChanged && c.Resources != nil && c.Resources.ListChanged
		if c.Resources == nil || !c.Resources.Subscribe {
			n.ResourceSubscriptions = nil
		}
	}
	s.startWatch(svc)
	return next(ctx, "subscriptions/listen", r)
}

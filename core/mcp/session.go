package mcp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// Dialer connects to servers. *client.Dialer implements it.
type Dialer interface {
	// Dial connects to a server and negotiates the protocol version. ctx bounds
	// only that; the session lives until its Close. For a server at a URL whose
	// OAuth is enabled, ctx leaves the user time to sign in, and Dial itself
	// applies the ConnectTimeout, not counting the sign-in. A failure is a
	// *fault.Error that describes it with the last lines of the server's stderr
	// and never contains a secret. Everything that Dial started has ended when it
	// fails.
	//
	// The code is invalid_config for a mistake in the configuration and
	// mcp_sign_in_required if the user has to sign in first. Otherwise it is
	// mcp_server_unavailable, with exec.ErrNotFound, fs.ErrNotExist or
	// fs.ErrPermission as the cause for a program that cannot be run.
	//
	// The process of a stdio server receives HOME, PATH and similar variables,
	// the variables of its spec, and nothing else of this process's environment.
	Dial(ctx context.Context, spec ServerSpec, h Handlers) (Session, error)
}

// Handlers are the callbacks for messages from a server. A nil field is not
// offered to the server, or drops the message. They are called sequentially on a
// goroutine of the session and must not wait for the session.
type Handlers struct {
	// Changed receives the notifications of changed lists, and of changed resources
	// that the session subscribes to.
	Changed func(c Change)
	Log     func(e host.LogEntry)
	// Elicit asks the user. Unlike the other handlers it may block, and it is
	// called on a goroutine of its own.
	Elicit func(ctx context.Context, e host.Elicitation) (host.Elicited, error)
	// Roots returns the absolute directories of the session; see also
	// [Session.RootsChanged].
	Roots func() []string
}

// ErrNotRun is the cause of an error of a [Session] that is unusable if the
// server has certainly not begun to run the request. The [Manager] then
// reconnects and repeats the request.
var ErrNotRun = errors.New("mcp: the request was not run")

// Session is one connection to a server. It is safe for concurrent use.
//
// A request is bounded only by its ctx: the [Manager] applies ServerSpec.Timeout,
// because it knows when the user is being asked.
//
// An error of its methods is that of ctx, or a *fault.Error: of code
// mcp_server_unavailable if the connection failed, mcp_resource_not_found,
// mcp_sign_in_required, or else mcp_tool_error with the server's answer. None
// contains a secret. The cause is [ErrNotRun] if the server has certainly not
// begun to run the request: the request could not be sent, or the server refused
// it because it does not know the session.
type Session interface {
	Info() Info
	// Tools, Resources, ResourceTemplates and Prompts return the complete lists
	// of the server, over all pages. A list is empty if the server does not
	// support the feature.
	Tools(ctx context.Context) ([]Tool, error)
	Resources(ctx context.Context) ([]Resource, error)
	ResourceTemplates(ctx context.Context) ([]ResourceTemplate, error)
	Prompts(ctx context.Context) ([]Prompt, error)
	// Call runs the tool with that name of the server. args are a JSON object, sent
	// unchanged; nil is an empty one. progress receives the progress notifications of
	// the running call; nil: they are dropped. An answer with IsError is not an error.
	// When ctx ends, the server is notified and Call returns at once.
	Call(ctx context.Context, tool string, args json.RawMessage, progress func(host.Progress)) (CallResult, error)
	ReadResource(ctx context.Context, uri string) ([]tools.Resource, error)
	Prompt(ctx context.Context, name string, args map[string]string) (PromptMessages, error)
	Subscribe(ctx context.Context, uri string) error // to its changes, see Handlers.Changed
	// RootsChanged notifies the server that the result of Handlers.Roots has
	// changed.
	RootsChanged(ctx context.Context)
	// Stderr returns the last lines of the server process's stderr, without line
	// breaks. It returns nil for a server that is not a process.
	Stderr() []string
	// Done is closed when the connection has ended, on either side. Err then
	// returns the reason, nil after Close.
	Done() <-chan struct{}
	Err() error
	// Close closes the connection and terminates the server's process and its
	// descendants. It is idempotent and returns once they have ended.
	Close() error
}

// Info is the information that a server reports about itself.
type Info struct {
	Name, Title, Version string
	Protocol             string // revision, for example "2025-11-25"
	Transport            Transport
	Instructions         string // how to use its tools; for the model
	HasTools             bool
	HasResources         bool
	HasPrompts           bool
}

// CallResult is a server's answer to a call of a tool.
type CallResult struct {
	Content    []tools.Part
	Structured json.RawMessage // nil: none
	IsError    bool
}

// Change describes a change of the features of a server, or of the service for a client.
type Change struct {
	Tools, Resources, Prompts bool
	Resource                  string // the URI of a resource whose content has changed; "": none
}

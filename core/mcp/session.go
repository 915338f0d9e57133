package mcp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/fettle-dev/fettle/core/tools"
)

// Dialer connects to servers; *client.Dialer has it.
type Dialer interface {
	// Dial connects to a server and agrees with it on a protocol. ctx bounds that
	// alone; the session lives until its Close. For a server at a URL whose OAuth is
	// enabled ctx leaves a person time to sign in; Dial itself keeps the
	// ConnectTimeout of such a one, sign-in aside. A failure is a *fault.Error that
	// says what happened, with the last lines of the server's stderr, and in no
	// case a secret. Whatever was started has ended when Dial fails.
	//
	// Its code is invalid_config for what is configured wrongly; mcp_sign_in_required
	// where a person has to sign in first; else mcp_server_unavailable, with
	// exec.ErrNotFound, fs.ErrNotExist or fs.ErrPermission as the cause of a program
	// that cannot be run.
	//
	// The process of a stdio server gets HOME, PATH and the like, and the
	// variables of its spec, and nothing else of this process's environment.
	Dial(ctx context.Context, spec ServerSpec, h Handlers) (Session, error)
}

// Handlers receive what a server sends of itself. A nil field is not offered to
// the server, or drops what comes. They are called one after the other, on a
// goroutine of the session's, and must not wait for the session.
type Handlers struct {
	ToolsChanged     func()
	ResourcesChanged func()
	PromptsChanged   func()
	ResourceUpdated  func(uri string)
	Log              func(e tools.LogEntry)
	// Elicit asks the person. Unlike the others it may take as long as it needs, and
	// is called on a goroutine of its own.
	Elicit func(ctx context.Context, e tools.Elicitation) (tools.Elicited, error)
	// Roots are the directories of the session, absolute; see also [Session.RootsChanged].
	Roots func() []string
}

// ErrNotRun is the cause of an error of a [Session] that is of no use any more,
// where the server has certainly not begun to run the request. The [Manager] then
// connects anew and repeats it.
var ErrNotRun = errors.New("mcp: the request was not run")

// Session is one connection to a server. It is safe for concurrent use.
//
// A request lasts as long as its ctx: ServerSpec.Timeout is kept by the [Manager],
// which knows when a person is asked.
//
// An error of its methods is that of ctx, or a *fault.Error: of code
// mcp_server_unavailable where the connection failed, mcp_resource_not_found,
// mcp_sign_in_required, else mcp_tool_error with what the server answered. None
// holds a secret. The cause is [ErrNotRun] where the server has certainly not begun
// to run the request: it could not be sent any more, or the server has refused it
// with the session, which it does not know.
type Session interface {
	Info() Info
	// Tools, Resources, ResourceTemplates and Prompts list all that the server
	// offers, over all of its pages; none where it does not offer the kind at all.
	Tools(ctx context.Context) ([]Tool, error)
	Resources(ctx context.Context) ([]Resource, error)
	ResourceTemplates(ctx context.Context) ([]ResourceTemplate, error)
	Prompts(ctx context.Context) ([]Prompt, error)
	// Call runs a tool. An answer with IsError is no error. When ctx ends the server
	// is told, and Call returns at once.
	Call(ctx context.Context, c Call) (CallResult, error)
	ReadResource(ctx context.Context, uri string) ([]tools.Resource, error)
	Prompt(ctx context.Context, name string, args map[string]string) (PromptMessages, error)
	Subscribe(ctx context.Context, uri string) error // to ResourceUpdated
	Ping(ctx context.Context) error
	// RootsChanged tells the server that Handlers.Roots gives others now.
	RootsChanged(ctx context.Context)
	// Stderr returns the last lines that the server's process has written there,
	// without line breaks; none for a server that is no process.
	Stderr() []string
	// Done is closed when the connection has ended, by whoever; Err then says why,
	// nil after Close.
	Done() <-chan struct{}
	Err() error
	// Close ends the connection, and the server's process with what it has started.
	// It is idempotent and returns once they have ended.
	Close() error
}

// Info is what a server says of itself.
type Info struct {
	Name, Title, Version string
	Protocol             string // revision, as "2025-11-25"
	Transport            Transport
	Instructions         string // how its tools are meant to be used; for the model
	HasTools             bool
	HasResources         bool
	HasPrompts           bool
}

// Call is a call of a server's tool.
type Call struct {
	Tool string          // the tool's own name
	Args json.RawMessage // a JSON object, sent as it is
	// Progress is told of what the server says while the call runs; nil: nobody is.
	Progress func(p tools.Progress)
}

// CallResult is a server's answer to a [Call].
type CallResult struct {
	Content    []tools.Part
	Structured json.RawMessage // nil: none
	IsError    bool
}

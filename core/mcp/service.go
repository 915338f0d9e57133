package mcp

import (
	"context"
	"encoding/json"

	"github.com/fettle-dev/fettle/core/tools"
)

// Service is what one client is served with; core/mcp/server speaks the protocol
// for it. All functions must be safe for concurrent use; a nil one is not
// offered, but for Tools and Call, which are required together. While Call, Read
// or Prompt runs, [tools.HostOf] of its ctx is the client; the others have nobody
// to turn to.
type Service struct {
	// Tools lists the tools, in order.
	Tools func() []tools.DeclarativeTool
	// Call runs one call through its whole path. It does not panic.
	Call func(ctx context.Context, name string, args json.RawMessage) tools.Result
	// Instructions tell the client how the tools are meant to be used.
	Instructions string

	Resources func(ctx context.Context) ([]Resource, error)
	Templates func(ctx context.Context) ([]ResourceTemplate, error)
	// Read returns what a resource holds. The error is a *fault.Error, of code
	// file_not_found for one that there is not.
	Read func(ctx context.Context, uri string) ([]tools.Resource, error)

	Prompts func(ctx context.Context) ([]Prompt, error)
	// Prompt fills a prompt in. The error is a *fault.Error.
	Prompt func(ctx context.Context, name string, args map[string]string) (PromptMessages, error)

	// Complete suggests values for the argument of a prompt, or the variable of a
	// resource template, that begin with what is written.
	Complete func(ctx context.Context, c Completion) ([]string, error)

	// Watch calls changed after each change of what is offered, until stop is
	// called; a call that is under way then may still end later. changed may be
	// called from any goroutine and does not wait for the client, but it takes locks:
	// so it is never called with one held that Watch or stop take, nor is either of
	// these called with one held that changed takes.
	Watch func(changed func(Change)) (stop func())
	// Updates says that Watch also tells of single resources: [Change.Resource]. Only
	// then can a client subscribe to them.
	Updates bool

	// Close ends the session; it is called once, when nothing runs any more.
	Close func() error
}

// Change says what of a [Service] is not as it was.
type Change struct {
	Tools, Resources, Prompts bool
	Resource                  string // the URI of a resource that holds something else now; "": none
}

// Completion is what values are suggested for.
type Completion struct {
	Prompt   string // name of a prompt; or
	Template string // URI template of resources
	Argument string
	Value    string            // what is written so far
	Args     map[string]string // of other arguments
}

// Client is whom a [Service] is for.
type Client struct {
	Name, Version string // as it calls itself; may be ""
	// Session is the id of its session; "" where there is none, as with stateless
	// HTTP: then the Service is for one request, and what it keeps is lost.
	Session string
}

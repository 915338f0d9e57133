// Package mcpservice defines the functions that serve one MCP client, without the protocol.
package mcpservice

import (
	"context"
	"encoding/json"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
)

// Service is the set of functions that serves one client; core/mcp/server
// implements the protocol on top of it. All functions must be safe for concurrent
// use. A nil function means that the feature is not offered, except for Tools and
// Call, which are both required. While Call, Read or Prompt runs, [host.FromContext]
// of its ctx is the client; the other functions have no host.
type Service struct {
	// Tools returns the tools, in order.
	Tools func() []tools.DeclarativeTool
	// Call runs one call through policy, approval and execution. It does not
	// panic.
	Call func(ctx context.Context, name string, args json.RawMessage) tools.Result
	// Instructions describe to the client how the tools are meant to be used.
	Instructions string

	Resources func(ctx context.Context) ([]mcp.Resource, error)
	Templates func(ctx context.Context) ([]mcp.ResourceTemplate, error)
	// Read returns the content of a resource. The error is a *fault.Error, of
	// code file_not_found for an unknown resource.
	Read func(ctx context.Context, uri string) ([]tools.Resource, error)

	Prompts func(ctx context.Context) ([]mcp.Prompt, error)
	// Prompt fills in a prompt. The error is a *fault.Error.
	Prompt func(ctx context.Context, name string, args map[string]string) (mcp.PromptMessages, error)

	// Complete suggests values for an argument of a prompt, or a variable of a
	// resource template, that begin with the given prefix.
	Complete func(ctx context.Context, c Completion) ([]string, error)

	// Watch calls changed after each change of the offered features until stop is
	// called; a call that is already running may end later. changed may be called
	// from any goroutine and does not wait for the client, but it acquires locks:
	// it must not be called with a lock held that Watch or stop acquire, and
	// neither of these may be called with a lock held that changed acquires.
	Watch func(changed func(mcp.Change)) (stop func())
	// Updates states that Watch also reports changes of single resources:
	// [mcp.Change.Resource]. Clients can subscribe to resources only then.
	Updates bool

	// Close ends the session. It is called once, when no other function runs any
	// more.
	Close func() error
}

// Completion is a request for suggestions.
type Completion struct {
	Prompt   string // name of a prompt; or
	Template string // URI template of resources
	Argument string
	Value    string            // the prefix typed so far
	Args     map[string]string // of other arguments
}

package mcp

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/fettle-dev/fettle/core/tools"
)

// Options are the parts of a [Manager]. Dialer is required.
type Options struct {
	Dialer  Dialer
	Servers []Configured
	// Elicit asks the person what a server wants to know. nil: nobody can be asked,
	// and servers are told so.
	Elicit func(ctx context.Context, server string, e tools.Elicitation) (tools.Elicited, error)
	Roots  func() []string // the session's folders; nil: servers are not told
	// Changed is told which server's tools, resources, prompts or status are
	// others now. Calls follow one another; it must not wait for the Manager.
	Changed func(server string)
	Logger  *slog.Logger // nil: nothing is logged
}

// Configured is a server of the settings. One with Blocked or Disabled is listed
// and not started.
type Configured struct {
	ServerSpec
	Blocked  error // why it may not start; nil: it may
	Disabled bool
}

// Manager keeps a session's servers connected and makes tools, resources and
// prompts of what they offer. It is safe for concurrent use. Close it at the end.
type Manager struct{ o Options }

// NewManager returns a Manager. It starts nothing.
func NewManager(o Options) *Manager { panic("todo") }

// Start begins to connect all servers, side by side, and returns at once. ctx
// ends what it started, as Close does.
func (m *Manager) Start(ctx context.Context) { panic("todo") }

// Settled waits until every server is connected or has failed once, or ctx ends,
// and reports which it was.
func (m *Manager) Settled(ctx context.Context) bool { panic("todo") }

// Status tells how all servers are, by name.
func (m *Manager) Status() []Status { panic("todo") }

// Tools returns a server's tools as they are registered. They stay usable: one
// whose server is gone for the moment refuses, or waits for its return.
func (m *Manager) Tools(server string) []tools.DeclarativeTool { panic("todo") }

// Instructions returns what the connected servers say of their tools, by server.
func (m *Manager) Instructions() map[string]string { panic("todo") }

// Restart ends a server's connection and makes a new one, also of a server that
// is given up or disabled. It returns when that is connected or has failed.
func (m *Manager) Restart(ctx context.Context, server string) error { panic("todo") }

// Disable ends a server's connection, until Restart.
func (m *Manager) Disable(server string) error { panic("todo") }

// Resources lists the resources of a server, or of all for "", by server.
func (m *Manager) Resources(server string) map[string][]Resource { panic("todo") }

// Has reports whether there is a server of that name (@server:uri).
func (m *Manager) Has(server string) bool { panic("todo") }

// Read reads a resource; what it holds is marked as untrusted.
func (m *Manager) Read(ctx context.Context, server, uri string) (tools.Content, error) {
	panic("todo")
}

// Prompts lists the prompts of the connected servers, by server.
func (m *Manager) Prompts() map[string][]Prompt { panic("todo") }

// Prompt has a server fill in a prompt.
func (m *Manager) Prompt(ctx context.Context, server, name string, args map[string]string) (PromptMessages, error) {
	panic("todo")
}

// ResourceTools returns the tools list_mcp_resources and read_mcp_resource.
func (m *Manager) ResourceTools() []tools.DeclarativeTool { panic("todo") }

// RootsChanged tells the servers that Options.Roots gives others now.
func (m *Manager) RootsChanged() { panic("todo") }

// Close ends all connections, with the processes behind them, and waits for
// them. Calls that run fail. It is idempotent.
func (m *Manager) Close() error { panic("todo") }

var _ = json.RawMessage(nil)

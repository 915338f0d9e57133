// Package hooks defines hooks as plain data.
//
// A [Hook] is a command, or a Go function, that runs at an [Event] of a session. It receives an
// [Input] and returns an [Output]; the outputs of all hooks of an event are combined into one
// effect, see package hookresult. A Config reads hooks from files and settings, takes Go functions
// from its Parameters, and runs them. Commands of a project run only once they are approved.
package hooks

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Event is a point in a session at which hooks run.
type Event string

// The events.
const (
	BeforeTool          Event = "BeforeTool"
	AfterTool           Event = "AfterTool"
	BeforeAgent         Event = "BeforeAgent"
	AfterAgent          Event = "AfterAgent"
	Notification        Event = "Notification"
	SessionStart        Event = "SessionStart"
	SessionEnd          Event = "SessionEnd"
	PreCompress         Event = "PreCompress"
	BeforeModel         Event = "BeforeModel"
	AfterModel          Event = "AfterModel"
	BeforeToolSelection Event = "BeforeToolSelection"
)

// Events lists all events, in the order above.
func Events() []Event {
	return []Event{BeforeTool, AfterTool, BeforeAgent, AfterAgent, Notification, SessionStart, SessionEnd, PreCompress, BeforeModel, AfterModel, BeforeToolSelection}
}

// Source is the origin of a hook.
type Source string

// The sources, in the order in which their hooks run.
const (
	SourceRuntime   Source = "runtime" // a function of the embedder
	SourceProject   Source = "project"
	SourceUser      Source = "user"
	SourceSystem    Source = "system"
	SourceExtension Source = "extension"
)

// DefaultTimeout is the time limit of a hook without one.
const DefaultTimeout = 60 * time.Second

// Hook is one hook of an event. A session does not change it.
type Hook struct {
	Event      Event  // required
	Matcher    string // a regular expression for tool names, or for the text of the event; "" or "*": every one
	Sequential bool   // runs after the previous hooks, with their changes

	Command string // command line for bash; required for a command
	Shown   string // Command for display, without the secrets in its variables; "": Command
	// Run is required for a hook implemented by a Go function. It must be safe for
	// concurrent use and return when ctx ends. An error or a panic denies at BeforeTool
	// and is a warning at other events.
	Run         func(ctx context.Context, in Input) (Output, error)
	Name        string            // "": Command
	Description string            // for display
	Timeout     time.Duration     // 0 or less: DefaultTimeout
	Env         map[string]string // additional variables of the command's environment
	Sandbox     bool              // the command is confined, and does not run where it cannot be
	Claude      bool              // the command reads and prints the JSON of Claude Code

	Source    Source // "": runtime
	Path      string // of the defining file; "" without a file
	Line      int    // 1-based; 0: unknown
	Extension string // its extension; "" if it has none
}

// Label returns the name of the hook for users and models: Name, or the command without
// secrets.
func (h *Hook) Label() string { return cmp.Or(h.Name, h.Shown, h.Command, "a function") }

// Place returns the position of the definition, "" without a file.
func (h *Hook) Place() string {
	if h.Path == "" || h.Line == 0 {
		return h.Path
	}
	return fmt.Sprintf("%s:%d", h.Path, h.Line)
}

// Is reports whether an entry in a list of hooks, a name or a command, denotes this
// hook.
func (h *Hook) Is(entry string) bool {
	return entry != "" && (entry == h.Name || entry == h.Command)
}

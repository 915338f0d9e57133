// Package hooks runs the hooks of an event and combines their outputs.
//
// A [Hook] is a command, or a Go function, that runs at an [Event] of a session. [ReadFile],
// [ParseJSON] and [ParseTOML] read hooks from files. A [Runner] passes an [Input] to all hooks that
// match an event and its [Subject], and combines their [Output] values into one [Effect]. Commands
// run only once they are approved; see [Approvals].
//
// The package starts no process itself and does not depend on a session; see [Options].
package hooks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
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

// event is the description of an [Event].
type event struct {
	name     Event
	ofTools  bool     // about a tool call
	gates    bool     // the next step depends on the hooks
	advisory bool     // a hook cannot stop anything, and matchers are not compared
	triggers []string // the texts for matchers; nil: matchers are not compared with a text
	sample   func(in *Input, tool string)
}

// events has one row for each event, in the order of [Events].
var events = []event{
	{name: BeforeTool, ofTools: true, gates: true, sample: sampleCall},
	{name: AfterTool, ofTools: true, gates: true, sample: sampleResult},
	{name: BeforeAgent, gates: true, sample: samplePrompt},
	{name: AfterAgent, sample: sampleAnswer},
	{name: Notification, advisory: true, sample: sampleNotification},
	{name: SessionStart, triggers: []string{"startup", "resume", "clear"}, sample: func(in *Input, _ string) { in.Source = "startup" }},
	{name: SessionEnd, triggers: []string{"exit", "clear", "logout", "prompt_input_exit", "other"}, sample: func(in *Input, _ string) { in.Reason = "exit" }},
	{name: PreCompress, triggers: []string{"auto", "manual"}, sample: func(in *Input, _ string) { in.Trigger = "manual" }},
	{name: BeforeModel, gates: true, sample: sampleRequest},
	{name: AfterModel, gates: true, sample: sampleChunk},
	{name: BeforeToolSelection, advisory: true, sample: sampleRequest},
}

// row returns the description of the event; the zero value for an unknown event.
func (e Event) row() event {
	for _, r := range events {
		if r.name == e {
			return r
		}
	}
	return event{}
}

// Events lists all events, in the order above.
func Events() []Event {
	names := make([]Event, len(events))
	for i, r := range events {
		names[i] = r.name
	}
	return names
}

// known reports whether the event exists.
func (e Event) known() bool { return e != "" && e.row().name == e }

// OfTools reports whether the event is about a tool call, so that matchers are compared
// with the tool's names.
func (e Event) OfTools() bool { return e.row().ofTools }

// triggers returns the possible texts of the event; nil: its matchers are not compared
// with a text.
func (e Event) triggers() []string { return e.row().triggers }

// matchesText reports whether matchers are compared with a single word.
func (e Event) matchesText() bool { return e.triggers() != nil }

// Advisory reports whether hooks of the event cannot stop anything: a decision is
// reported and has no effect.
func (e Event) Advisory() bool { return e.row().advisory || e.matchesText() }

// gates reports whether the next step depends on the hooks of the event. Then an invalid
// output denies.
func (e Event) gates() bool { return e.row().gates }

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

// order returns the position of a source.
func (s Source) order() int {
	return slices.Index([]Source{SourceRuntime, SourceProject, SourceUser, SourceSystem, SourceExtension}, s)
}

// Type is the kind of a hook.
type Type string

// The types.
const (
	TypeCommand Type = "command"
	TypeRuntime Type = "runtime"
)

// DefaultTimeout is the time limit of a hook without one.
const DefaultTimeout = 60 * time.Second

// Func is a hook implemented by a Go function. It must be safe for concurrent use and
// return when ctx ends. An error or a panic denies at BeforeTool and is a warning at
// other events.
type Func func(ctx context.Context, in Input) (Output, error)

// Hook is one hook of an event. It is immutable once it is in a [Runner].
type Hook struct {
	Event      Event  // required
	Matcher    string // see [Subject]; "" or "*": every subject
	Sequential bool   // runs after the previous hooks, with their changes
	Type       Type   // "": runtime where Run is set, else command

	Command     string            // command line for bash; required for a command
	Shown       string            // Command for display, without the secrets in its variables; "": Command
	Run         Func              // required for a function
	Name        string            // "": Command
	Description string            // for display
	Timeout     time.Duration     // 0 or less: DefaultTimeout
	Env         map[string]string // additional variables of the command's environment

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

// limit returns the time limit of the hook.
func (h *Hook) limit() time.Duration {
	if h.Timeout <= 0 {
		return DefaultTimeout
	}
	return h.Timeout
}

// Is reports whether an entry in a list of hooks, a name or a command, denotes this
// hook.
func (h *Hook) Is(entry string) bool {
	return entry != "" && (entry == h.Name || entry == h.Command)
}

// oneLine returns a short text without line breaks.
func oneLine(text string) string { return escape.ClipBytes(escape.OneLine(text), 2000) }

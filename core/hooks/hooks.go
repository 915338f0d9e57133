// Package hooks runs what people have hung on the events of a session, and says
// what they want together. It starts no process itself and knows no session.
package hooks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
)

// Event is a point in a session at which hooks run (EX-06).
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

// event is what is known of an [Event].
type event struct {
	name     Event
	ofTools  bool     // it is about a call of a tool
	gates    bool     // something goes on only as far as hooks let it
	advisory bool     // a hook can stop nothing, though matchers are compared with no text
	triggers []string // what its matchers are compared with; nil: with no text
	sample   func(in *Input, tool string)
}

// events has a row for each event, in the order of [Events].
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

// row returns what is known of the event: nothing if there is no such event.
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

// known reports whether there is such an event.
func (e Event) known() bool { return e != "" && e.row().name == e }

// OfTools reports whether the event is about a call of a tool, so that matchers
// are compared with the tool's names.
func (e Event) OfTools() bool { return e.row().ofTools }

// triggers are the texts that the event has; nil: its matchers are not compared
// with a text.
func (e Event) triggers() []string { return e.row().triggers }

// matchesText reports whether matchers are compared with a single word.
func (e Event) matchesText() bool { return e.triggers() != nil }

// Advisory reports whether a hook of the event can stop nothing: what it decides
// is told and has no effect.
func (e Event) Advisory() bool { return e.row().advisory || e.matchesText() }

// gates reports whether something goes on at the event only as far as hooks let it:
// then what a hook says and cannot be understood is taken for a no.
func (e Event) gates() bool { return e.row().gates }

// Source says whose a hook is.
type Source string

// The sources, in the order in which their hooks run.
const (
	SourceRuntime   Source = "runtime" // a function of the embedder's
	SourceProject   Source = "project"
	SourceUser      Source = "user"
	SourceSystem    Source = "system"
	SourceExtension Source = "extension"
)

// order is the place of a source among the others.
func (s Source) order() int {
	return slices.Index([]Source{SourceRuntime, SourceProject, SourceUser, SourceSystem, SourceExtension}, s)
}

// Type says what a hook is.
type Type string

// The types.
const (
	TypeCommand Type = "command"
	TypeRuntime Type = "runtime"
)

// DefaultTimeout ends a hook that names no time limit.
const DefaultTimeout = 60 * time.Second

// Func is a hook that is a function of the program. It must be safe for
// concurrent use and end when ctx does. Its error, or a panic, denies where the
// event is BeforeTool and is a warning elsewhere.
type Func func(ctx context.Context, in Input) (Output, error)

// Hook is one thing that runs at an event. It is not changed once it is in a
// [Runner].
type Hook struct {
	Event      Event  // required
	Matcher    string // what it is for, see [Subject]; "", or "*": everything
	Sequential bool   // it runs after those before it, and sees what they have changed
	Type       Type   // "": runtime where Run is set, else command

	Command     string            // line for bash; required for a command
	Shown       string            // Command for people, without secrets that were put into it; "": Command
	Run         Func              // required for a function
	Name        string            // "": Command
	Description string            // for people
	Timeout     time.Duration     // 0 or less: DefaultTimeout
	Env         map[string]string // further variables of the command's environment

	Source    Source // "": runtime
	Path      string // of the file that defines it; "": none
	Line      int    // 1-based; 0: not known
	Extension string // that brings it; "": none
}

// Label is the name of the hook for people and models: Name, or the command without
// secrets.
func (h *Hook) Label() string { return cmp.Or(h.Name, h.Shown, h.Command, "a function") }

// Place says where the hook is defined, "" where that is no file.
func (h *Hook) Place() string {
	if h.Path == "" || h.Line == 0 {
		return h.Path
	}
	return fmt.Sprintf("%s:%d", h.Path, h.Line)
}

// limit is how long the hook may run.
func (h *Hook) limit() time.Duration {
	if h.Timeout <= 0 {
		return DefaultTimeout
	}
	return h.Timeout
}

// Is reports whether a list of hooks means this one by that entry: its name, or
// its command.
func (h *Hook) Is(entry string) bool {
	return entry != "" && (entry == h.Name || entry == h.Command)
}

// oneLine returns text without line breaks, short.
func oneLine(text string) string { return escape.ClipBytes(escape.OneLine(text), 2000) }

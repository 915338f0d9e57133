// Package interactive is what a front end is given of a person's session with the
// agent: it hands over what is typed, and is told what happens.
package interactive

import (
	"context"
	"iter"
	"time"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
)

// Session is what a front end needs. Questions and live output of calls come over
// the bus, all else as events. It is safe for concurrent use, but for Submit, of
// which one runs at a time.
type Session interface {
	// Start does what belongs before the first input, as hooks of the session's
	// start, and tells what a person should know of it.
	Start(ctx context.Context) iter.Seq[Event]
	// Submit works on what a person has typed: a command after "/", a shell line
	// after "!", else a prompt. It has ended when the events have; leaving the loop,
	// or the end of ctx, calls it off.
	Submit(ctx context.Context, text string) iter.Seq[Event]
	// Complete offers what could stand at the cursor, a byte offset in text: names
	// of commands, arguments, paths after "@".
	Complete(ctx context.Context, text string, cursor int) Completions
	Status() Status
	// CycleMode chooses the next approval mode, of default, autoEdit and plan; yolo
	// is left for the first, and chosen by name alone. The error says why not.
	CycleMode() (mode string, err error)
	// Inputs are what was typed in earlier sessions of this project and in this one,
	// the oldest first.
	Inputs() []string
	Bus() *bus.MessageBus
}

// EventKind says what an Event is about, and which of its fields are set.
type EventKind string

// The kinds of events.
const (
	EventPrompt  EventKind = "prompt"  // Text: what is said to the model now
	EventAgent   EventKind = "agent"   // Agent
	EventMessage EventKind = "message" // Level, Text: something for the person, in Markdown
	EventWorking EventKind = "working" // Text: what is being done; "" is the end of it
	EventShell   EventKind = "shell"   // Text: what a shell line of the person's printed
	EventClear   EventKind = "clear"   // the screen begins anew
	EventHistory EventKind = "history" // History: the screen begins anew with these
	EventDialog  EventKind = "dialog"  // Title, Text: something to read and to close, in Markdown
	EventCopy    EventKind = "copy"    // Text: for the clipboard
	EventQuit    EventKind = "quit"    // Text: last words; the session ends
)

// Level is how grave a message is.
type Level string

// The levels.
const (
	LevelInfo    Level = "info"
	LevelWarning Level = "warning"
	LevelError   Level = "error"
)

// Event is something to show.
type Event struct {
	Kind    EventKind
	Level   Level
	Title   string
	Text    string
	Agent   *agent.Event
	History []Item
}

// Item is a piece of an earlier conversation.
type Item struct {
	Role string // user, assistant, tool; notice: of the program
	Name string // of a tool
	Text string // for a tool: how its call was described
	OK   bool   // of a tool: the call was a success
	// Status is how a call has ended: success, error, denied or cancelled, which is
	// also that of one that was never answered.
	Status string
}

// Completions are ways to complete an input.
type Completions struct {
	From, To int // the bytes of the input that a candidate replaces
	Items    []Candidate
}

// Candidate is one of them.
type Candidate struct {
	Text        string // what is put in
	Label       string // what is shown; "": Text
	Description string // may be empty
	Run         bool   // choosing it also submits, as nothing could follow
}

// Status is what a front end shows all the time.
type Status struct {
	Product   string // the program's name
	Version   string
	SessionID string
	Model     string
	Mode      string // approval mode: default, autoEdit, yolo, plan
	Folder    string // the target, with ~ for the home directory
	Branch    string // of git; "": none
	Tokens    int    // of the last request; 0: none yet
	Limit     int    // of the model; 0: not known
	Trust     string // trusted, untrusted, undecided
	Confined  string // what confines commands; "": nothing
	Servers   int    // MCP servers that are connected
	Started   time.Time
}

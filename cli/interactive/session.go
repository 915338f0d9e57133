// Package interactive defines the interface between a front end and an interactive
// session with the agent. The front end submits the user's input and receives events
// to display.
package interactive

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
)

// Session is an interactive session. Approval requests and the live output of calls
// arrive on the message bus, everything else as events. It is safe for concurrent
// use, except that only one Submit may run at a time.
type Session interface {
	// Start runs the work that precedes the first input, such as session start hooks,
	// and yields notices for the user.
	Start(ctx context.Context) iter.Seq[Event]
	// Submit processes an input: a command after "/", a shell line after "!",
	// otherwise a prompt. It has finished when the iteration ends. Breaking out of
	// the loop or cancelling ctx cancels it.
	Submit(ctx context.Context, text string) iter.Seq[Event]
	// Complete returns candidates for the cursor position, a byte offset in text:
	// command names, arguments, and paths after "@", by scattered letters too.
	Complete(ctx context.Context, text string, cursor int) Completions
	// Attach returns the text that stands for an image in an input: that of data, or if
	// data is nil that of the file at path, which may be a file URL. The error gives the
	// reason why it is no such image.
	Attach(ctx context.Context, path string, data []byte) (text string, err error)
	Status() Status
	// CycleMode switches to the next approval mode of default, autoEdit, auto and plan. It
	// leaves yolo for default; yolo can only be selected by name. The error gives the
	// reason for a refusal.
	CycleMode() (mode string, err error)
	// Inputs returns the inputs of this session and of earlier sessions in this
	// project, oldest first.
	Inputs() []string
	Bus() *bus.MessageBus
}

// EventKind is the type of an Event and determines which of its fields are set.
type EventKind string

// The kinds of events.
const (
	EventPrompt  EventKind = "prompt"  // Text: the prompt sent to the model
	EventAgent   EventKind = "agent"   // Agent
	EventMessage EventKind = "message" // Level, Text: a message for the user, in Markdown
	EventWorking EventKind = "working" // Text: the current activity; "" ends it
	EventShell   EventKind = "shell"   // Text: the output of a shell line of the user
	EventClear   EventKind = "clear"   // clears the screen
	EventHistory EventKind = "history" // History: clears the screen and shows these items
	EventDialog  EventKind = "dialog"  // Title, Text: a page to read and close, in Markdown
	EventPick    EventKind = "pick"    // Pick: a list to choose from
	EventTheme   EventKind = "theme"   // Text: the name of the theme to use from now on
	// EventTerminal has Text, a command, and Terminal: the front end releases the
	// terminal, calls Terminal, and takes the terminal again.
	EventTerminal EventKind = "terminal"
	EventInput    EventKind = "input" // Text: for the input, if that is empty
	EventCopy     EventKind = "copy"  // Text: to copy to the clipboard
	EventQuit     EventKind = "quit"  // Text: the final message; the session ends
	// EventReopen ends the front end without a final message. The session is opened again
	// with its conversation, in a front end of the same kind.
	EventReopen EventKind = "reopen"
)

// Level is the severity of a message.
type Level string

// The levels.
const (
	LevelInfo    Level = "info"
	LevelWarning Level = "warning"
	LevelError   Level = "error"
)

// Event is something to display.
type Event struct {
	Kind     EventKind
	Level    Level
	Title    string
	Text     string
	Agent    *agent.Event
	History  []Item
	Pick     *Pick
	Terminal func()
}

// Item is an entry of an earlier conversation.
type Item struct {
	Role string // user, assistant, tool, or notice for a message of the program
	Name string // tool: its name
	Text string // tool: the description of the call
	ID   string // tool: the id of the call
	Args string // tool: the arguments of the call, in JSON
	OK   bool   // tool: the call succeeded
	// Display is the result of a call as JSON of tools.Display, as far as it is recorded.
	Display json.RawMessage
	// Status is the outcome of a call: success, error, denied or cancelled. A call
	// that was never answered is cancelled.
	Status string
}

// Completions are the candidates for an input.
type Completions struct {
	From, To int // the byte range that a candidate replaces
	Items    []Candidate
}

// Candidate is one completion.
type Candidate struct {
	Text        string // the inserted text
	Label       string // the displayed text; "": Text
	Description string // may be empty
	Run         bool   // selecting it also submits, because no argument can follow
	Marks       []int  // the bytes of the displayed text that match the typed ones, in order
}

// Status is the state that a front end displays permanently.
type Status struct {
	Product   string // the program's name
	Version   string
	SessionID string
	Model     string
	Mode      string // approval mode; see policy.Modes
	Dir       string // the target directory, with ~ for the home directory
	Branch    string // Git branch; "": none
	Tokens    int    // tokens of the last request; 0: none yet
	Limit     int    // context limit of the model; 0: unknown
	Trust     string // trusted, untrusted or undecided
	Confined  string // the sandbox of commands; "": none
	Servers   int    // connected MCP servers
	Started   time.Time
}

// Package commands is about lines that begin with a slash: which command one
// means, where commands come from, and what they want done.
package commands

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Kind says where a command comes from.
type Kind string

// The kinds (CM-01).
const (
	KindBuiltIn   Kind = "built-in"
	KindFile      Kind = "file"
	KindMCPPrompt Kind = "mcp-prompt"
	KindSkill     Kind = "skill"
	KindAgent     Kind = "agent"
)

// Command is what a person can type (CM-01). It is not changed any more once a
// [Set] has it.
type Command struct {
	Name        string   // without the slash; "a:b" for files in directories
	AltNames    []string // further names
	Description string   // one line, for people
	Hidden      bool     // not listed and not completed
	Kind        Kind
	// AutoExecute says that choosing it in a list of completions runs it at once,
	// as it needs no arguments.
	AutoExecute   bool
	ExtensionName string // of the extension that it comes from; "": none
	ExtensionID   string
	Source        string // file or server that it comes from, for people; "" for a built-in

	// Action does what the command is for. nil: it only has SubCommands. It is
	// called on the goroutine of whoever runs the command and may ask over the
	// session's bus.
	Action func(ctx context.Context, c *Context, args string) (Result, error)
	// Completion offers arguments that begin with what has been typed of them.
	// nil: none.
	Completion func(ctx context.Context, c *Context, partial string) ([]Candidate, error)
	// ShowCompletionLoading says that Completion may take a while.
	ShowCompletionLoading bool
	SubCommands           []*Command
	// NoArgs says of a sub-command that text behind its name is not for it, but
	// with the name for the command above it, if that has an Action.
	NoArgs bool
}

// Candidate is one way to complete what was typed.
type Candidate struct {
	Value       string
	Description string // may be empty
}

// Context is what a command works with (CM-03).
type Context struct {
	Invocation Invocation
	Services   Services
	UI         UI
	Session    Session
	// OverwriteConfirmed says that the person has agreed to what a [ConfirmAction]
	// of the same line asked (CM-05).
	OverwriteConfirmed bool
	// ApprovedCommands are those that the person has agreed to when a
	// [ConfirmShellCommands] of the same line asked.
	ApprovedCommands []string
}

// Invocation is what was typed.
type Invocation struct {
	Raw  string // the whole line
	Name string // of the command that was found, with those above it: "chat resume"
	Args string // the rest
}

// Services are those of the session. Each may be nil where there is none.
type Services struct {
	Config   Config
	Settings Settings
	Git      Git
	Logger   *slog.Logger
}

// Config tells about the session.
type Config interface {
	Folders() []string // of the workspace, absolute, the target first
	Model() string
	ApprovalMode() string // default, autoEdit, yolo or plan
}

// Settings tells what settings say.
type Settings interface {
	// Setting returns the value in force of a key, as "model.name", as JSON.
	Setting(key string) (json.RawMessage, bool)
}

// Git tells about the repository of the target directory.
type Git interface {
	Branch(ctx context.Context) (string, error) // "" where there is none
}

// UI is the front end, as far as a command may touch it while it runs. A Context
// may have none.
type UI interface {
	Say(m Message)       // shows something at once
	Progress(now string) // says what is being done; "" ends it
}

// Session is what is known of the conversation.
type Session struct {
	ID      string
	Started time.Time
	Prompts int // that were worked on
}

// Result is what a command wants done once it has run (CM-04); nil is nothing.
type Result interface{ result() }

// MessageLevel says how grave a Message is.
type MessageLevel string

// The levels.
const (
	LevelInfo    MessageLevel = "info"
	LevelWarning MessageLevel = "warning"
	LevelError   MessageLevel = "error"
)

// Message is shown to the person.
type Message struct {
	Level MessageLevel // "": info
	Text  string       // Markdown
}

// SubmitPrompt is said to the model in the place of what was typed.
type SubmitPrompt struct {
	Content tools.Content
	// Expanded says that Content holds what it names with @ already.
	Expanded bool
}

// RunTool has a tool called, as a model would. Its result is shown, and then said
// to the model where there is a prompt to follow.
type RunTool struct {
	Name string
	Args json.RawMessage
	Then *SubmitPrompt // nil: nothing follows
}

// LoadHistory puts another conversation in the place of this one (AR-04).
type LoadHistory struct {
	History []json.RawMessage // turns, as core/model writes them
	Highest int64             // version that the conversation was given
	Note    string            // shown once it is done; may be empty
}

// Quit ends the session.
type Quit struct {
	Messages []string // shown last
	Delete   bool     // the session's recording goes too
}

// Dialog opens one of the front end's own dialogs, which shows a notice where it
// has none of that name.
type Dialog struct {
	Name string // help, auth, theme, editor, privacy, settings, sessionBrowser, model, agentConfig, permissions
	Data any    // what the dialog needs; may be nil
}

// ConfirmAction asks the person; agreed to, the same line runs again with
// Context.OverwriteConfirmed (CM-05).
type ConfirmAction struct {
	Prompt string
}

// ConfirmShellCommands asks the person about commands; agreed to, the same line
// runs again with them in Context.ApprovedCommands, and each is allowed, in these
// very words, until the session ends.
type ConfirmShellCommands struct {
	Commands []string // in the order of the line
}

// CustomDialog is shown as it is, until the person closes it.
type CustomDialog struct {
	Title string
	Text  string // Markdown
}

// Logout forgets how the person is signed in, and ends the session.
type Logout struct{}

// CopyText puts a text into the clipboard.
type CopyText struct {
	Text    string
	Message *Message // shown then; nil: nothing
}

// ClearScreen empties the screen, and shows a message on it where there is one.
type ClearScreen struct {
	Message *Message
}

func (Message) result()              {}
func (SubmitPrompt) result()         {}
func (RunTool) result()              {}
func (LoadHistory) result()          {}
func (Quit) result()                 {}
func (Dialog) result()               {}
func (ConfirmAction) result()        {}
func (ConfirmShellCommands) result() {}
func (CustomDialog) result()         {}
func (Logout) result()               {}
func (CopyText) result()             {}
func (ClearScreen) result()          {}

// Loader brings commands.
type Loader interface {
	Name() string // for problems, as "files"
	Load(ctx context.Context) ([]*Command, []fault.Problem, error)
}

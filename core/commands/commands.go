// Package commands provides slash commands: the set of a session, its loaders, and the results of
// commands.
//
// A [Loader] returns commands; commands/commandfile has the one for command files, and
// commands/builtin fettle's own. [Assemble] merges loaders into a [Set], which parses and
// completes lines. The handler of a [Command] receives the services of the front end in a [Context]
// and returns a [Result], such as [Message] or [SubmitPrompt], which the front end carries out.
package commands

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Kind is the origin of a command.
type Kind string

// The kinds.
const (
	KindBuiltIn   Kind = "built-in"
	KindFile      Kind = "file"
	KindMCPPrompt Kind = "mcp-prompt"
	KindSkill     Kind = "skill"
	KindAgent     Kind = "agent"
)

// Command is a slash command. It is immutable once a [Set] has it.
type Command struct {
	Name        string   // without the slash; "a:b" for files in subdirectories
	AltNames    []string // alternative names
	Description string   // one line, for display
	Hidden      bool     // not listed and not completed
	Kind        Kind
	// AutoExecute: choosing it in a list of completions runs it at once, because it
	// needs no arguments.
	AutoExecute   bool
	ExtensionName string // its extension; "" if it has none
	ExtensionID   string
	Source        string // its file or server, for display; "" for a built-in

	// Action runs the command. nil: it only has SubCommands. It is called on the
	// goroutine of the caller and may send requests over the session's bus.
	Action func(ctx context.Context, c *Context, args string) (Result, error)
	// Completion returns arguments that begin with the typed text. nil: none.
	Completion func(ctx context.Context, c *Context, partial string) ([]Candidate, error)
	// ShowCompletionLoading: Completion may take a while.
	ShowCompletionLoading bool
	SubCommands           []*Command
	// NoArgs applies to a sub-command: text after its name belongs, together with the
	// name, to the parent command, if that has an Action.
	NoArgs bool
}

// Candidate is one completion.
type Candidate struct {
	Value       string // the inserted text, without a trailing space
	Description string // may be empty
	// Run: choosing it may also run the command, because no arguments can follow.
	// [Set.Complete] sets it for names of commands.
	Run bool
}

// Context is the context of a command's run.
type Context struct {
	Invocation Invocation
	Services   Services // nil if they are not available
	UI         UI
	Session    Session
	// OverwriteConfirmed: the user has approved the [ConfirmAction] of the same line.
	OverwriteConfirmed bool
	// ApprovedCommands are the commands that the user has approved in a
	// [ConfirmShellCommands] of the same line.
	ApprovedCommands []string
}

// Invocation is the typed line.
type Invocation struct {
	Raw  string // the whole line
	Name string // of the command, with its parents: "chat resume"
	Args string // the rest
}

// Services are the services of the session: its configuration, settings, repository and
// log.
type Services interface {
	Directories() []string // of the workspace, absolute, the target first
	Model() string
	ApprovalMode() string // see policy.Modes
	// Setting returns the effective value of a key, as "model.name", as JSON.
	Setting(key string) (json.RawMessage, bool)
	// Branch returns the branch of the target directory's repository; "" without one.
	Branch(ctx context.Context) (string, error)
	Logger() *slog.Logger
}

// UI is the front end for a running command. A Context may have none.
type UI interface {
	Say(m Message)       // shows a message at once
	Progress(now string) // shows the current activity; "" ends it
}

// Session is the state of the conversation.
type Session struct {
	ID      string
	Started time.Time
	Prompts int // files of the session
}

// Result is the action that a command requests; nil is none.
type Result interface{ result() }

// MessageLevel is the severity of a Message.
type MessageLevel string

// The levels.
const (
	LevelInfo    MessageLevel = "info"
	LevelWarning MessageLevel = "warning"
	LevelError   MessageLevel = "error"
)

// Message is shown to the user.
type Message struct {
	Level MessageLevel // "": info
	Text  string       // Markdown
}

// SubmitPrompt is sent to the model instead of the typed line.
type SubmitPrompt struct {
	Content tools.Content
	// Expanded: the @ mentions in Content are already expanded.
	Expanded bool
}

// RunTool calls a tool, as a model would. Its result is shown, and sent to the model if
// a prompt follows.
type RunTool struct {
	Name string
	Args json.RawMessage
	Then *SubmitPrompt // nil: no prompt follows
}

// LoadHistory replaces the conversation.
type LoadHistory struct {
	History []json.RawMessage // turns, as core/model writes them
	Highest int64             // version of the conversation
	Note    string            // shown afterwards; may be empty
}

// Quit ends the session.
type Quit struct {
	Messages []string // shown last
	Delete   bool     // the session's recording is deleted too
}

// Dialog opens a dialog of the front end, which shows a notice if it has none with that
// name.
type Dialog struct {
	Name string // help, auth, theme, editor, privacy, settings, sessionBrowser, model, agentConfig, permissions
}

// ConfirmAction asks the user; after approval the same line runs again with
// Context.OverwriteConfirmed.
type ConfirmAction struct {
	Prompt string
}

// ConfirmShellCommands asks the user to approve commands. After approval the same line
// runs again with them in Context.ApprovedCommands, and each exact command is allowed
// until the session ends.
type ConfirmShellCommands struct {
	Commands []string // in the order of the line
}

// CustomDialog is shown unchanged until the user closes it.
type CustomDialog struct {
	Title string
	Text  string // Markdown
}

// Logout deletes the user's credentials, and ends the session.
type Logout struct{}

// CopyText copies a text to the clipboard.
type CopyText struct {
	Text    string
	Message *Message // shown afterwards; nil: nothing
}

// ClearScreen clears the screen, and shows a message if it has one.
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

// Loader loads commands.
type Loader interface {
	Name() string // for problems, as "files"
	Load(ctx context.Context) ([]*Command, []fault.Problem, error)
}

// Package builtin is the commands that fettle itself brings, each over a small
// interface of what it needs from the session.
package builtin

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/fault"
)

// Services are what the commands work with. A command whose field is nil is
// missing; the zero value leaves those that need nothing, as /quit. Every method is
// called on the goroutine that runs the command, none at once with another of the
// same session, and its error is shown as a message with its remedy.
type Services struct {
	Product string // the program's name; "": fettle

	Catalog     Catalog     // /help, /commands
	Clear       *Clear      // /clear
	Tools       Tools       // /tools
	Models      Models      // /model
	Chats       Chats       // /chat
	Transcript  Transcript  // /copy, /export, /chat share
	Compressor  Compressor  // /compress
	Skills      Skills      // /skill, /skills
	Servers     Servers     // /mcp
	Trust       Trust       // /permissions
	Policy      Policy      // /policy
	Memory      Memory      // /memory
	Stats       Stats       // /stats
	Checkpoints Checkpoints // /restore
	About       About       // /about
	Agents      Agents      // /agents
	Hooks       Hooks       // /hooks
	Extensions  Extensions  // /extensions
	Folders     Folders     // /directory
	ContextFile ContextFile // /init
	Mode        Mode        // /mode, /plan
	Dialogs     []string    // the front end's own, of those of [commands.Dialog]: each is a command of its name
}

// Catalog is the session's commands.
type Catalog interface {
	// List returns them in the order of their names.
	List() []*commands.Command
	// Reload loads those of files, servers, skills and agents again.
	Reload(ctx context.Context) ([]fault.Problem, error)
}

// Clear is what beginning anew needs (CM-11). Session is required; the others may
// be nil.
type Clear struct {
	Hooks   SessionHooks
	Chat    Chat
	Session NewSession
	Tokens  TokenCount
}

// SessionHooks are the hooks of a session's two ends.
type SessionHooks interface {
	// SessionEnd runs those of the end, for a reason as "clear". What goes wrong in
	// one keeps nobody from going on.
	SessionEnd(ctx context.Context, reason string)
	// SessionStart runs those of the start, of a source as "clear", and returns what
	// they want the person to be told.
	SessionStart(ctx context.Context, source string) (systemMessage string)
}

// Chat is the conversation with the model.
type Chat interface {
	Reset(ctx context.Context) error // empties its history
}

// NewSession begins a session of a new id: Config.StartNewSession, and a recording
// of its own.
type NewSession interface {
	StartNewSession(ctx context.Context) (id string, err error)
}

// TokenCount is how full the front end shows the conversation to be.
type TokenCount interface {
	SetTokens(n int)
}

// Tools are what the model may call.
type Tools interface {
	List() []Tool // in the order of their names
}

// Tool is one of them.
type Tool struct {
	Name        string
	Display     string // "": Name
	Description string
	Server      string          // MCP server that it is of; "": none
	Schema      json.RawMessage // of its arguments; nil: not known
}

// Models are what answers.
type Models interface {
	Model() string // in force
	// Known are names for completion and lists; there may be others.
	Known() []string
	// SetModel has the next prompt answered by another. save keeps it in the user's
	// settings.
	SetModel(ctx context.Context, name string, save bool) error
}

// Chats are conversations that were saved under a tag (CM-12).
type Chats interface {
	// List returns them, the one saved first coming first.
	List(ctx context.Context) ([]SavedChat, error)
	// Save keeps the conversation as it is. A tag that is taken is an error of
	// code attempt_to_create_existing_file unless overwrite is set.
	Save(ctx context.Context, tag string, overwrite bool) error
	// Load returns what was saved. The error is of code session_not_found where
	// there is none.
	Load(ctx context.Context, tag string) (commands.LoadHistory, error)
	// Delete removes one. The error is as that of Load.
	Delete(ctx context.Context, tag string) error
}

// SavedChat is one of them at a glance.
type SavedChat struct {
	Tag   string
	Saved time.Time
	Turns int // messages, of the person and of the model, with what tools gave
}

// Transcript is what was said.
type Transcript interface {
	LastAnswer() string // of the model; "": it has not said anything
	// Export writes the conversation into a file, relative to the target directory:
	// Markdown for *.md, else JSON. "" chooses a name. A file that is there is an
	// error of code attempt_to_create_existing_file unless overwrite is set. It
	// returns the absolute path.
	Export(ctx context.Context, file string, overwrite bool) (path string, err error)
}

// Compressor makes the conversation shorter.
type Compressor interface {
	Compress(ctx context.Context) (Compressed, error)
}

// Compressed is what came of it.
type Compressed struct {
	Before, After int    // tokens
	Why           string // nothing was done; "": it was
}

// Skills are instructions for kinds of work.
type Skills interface {
	List() []Skill // in the order of their names
	// Activate puts one's instructions into the system prompt (EX-04).
	Activate(ctx context.Context, name string) error
	SetEnabled(ctx context.Context, name string, on bool) error
	Reload(ctx context.Context) (problems []string, err error)
}

// Skill is one of them.
type Skill struct {
	Name        string
	Description string
	Source      string // built-in, extension NAME, user, project
	Enabled     bool
	Active      bool
}

// Servers are the MCP servers.
type Servers interface {
	List() []Server // in the order of their names
	// SignIn signs the person in, and returns what to tell.
	SignIn(ctx context.Context, server string) (note string, err error)
	Reload(ctx context.Context) error
	SetEnabled(ctx context.Context, server string, on bool) error
}

// Server is one of them.
type Server struct {
	Name        string
	State       string // as "connected"
	Problem     string // why it is not; "": nothing to say
	Description string
	Extension   string // that brings it; "": none
	Tools       []Tool
	Prompts     []string
	Resources   int // how many
}

// Trust is whether the directory may loosen anything.
type Trust interface {
	State() (folder, state string) // trusted, untrusted or undecided
	// SetTrust records it for a directory, "" for the target, and returns what to
	// tell, as that it holds from the next session on.
	SetTrust(ctx context.Context, folder string, trusted bool) (note string, err error)
}

// Policy is the rules in force.
type Policy interface {
	Rules() []Rule // in the order in which they are asked
}

// Rule is one of them.
type Rule struct {
	Decision string // allow, deny, ask_user
	About    string // what it speaks of, with its conditions, as run_shell_command(git status) in plan
	Name     string // that its file gives it; may be empty
	Priority float64
	Tier     string // as user, or session
	Source   string // file and line
}

// Memory is the instructions that the model has.
type Memory interface {
	Files(ctx context.Context) ([]MemoryFile, error) // in the order in which the model has them
	Reload(ctx context.Context) error
	// CanAdd says that there is a tool save_memory, which /memory add calls.
	CanAdd() bool
}

// MemoryFile is one file of them.
type MemoryFile struct {
	Path string
	Text string
}

// Stats are a session's numbers.
type Stats interface {
	Stats() Numbers
}

// Numbers are what was counted.
type Numbers struct {
	SessionID string
	Started   time.Time
	Elapsed   time.Duration
	Prompts   int
	Models    []ModelNumbers
	Tools     []ToolNumbers
	Added     int // lines that changes of files added
	Removed   int
}

// ModelNumbers are those of one model. Tokens may be 0 where a provider does not
// tell.
type ModelNumbers struct {
	Model                 string
	Requests, Failed      int
	Input, Cached, Output int // tokens
	Waited                time.Duration
}

// ToolNumbers are those of one tool.
type ToolNumbers struct {
	Tool               string
	Calls, Failed      int
	Accepted, Rejected int // by the person
	Took               time.Duration
}

// Checkpoints are states of the files to go back to.
type Checkpoints interface {
	// List returns them, the latest first.
	List(ctx context.Context) ([]Checkpoint, error)
	// Preview says what restoring one would do, and changes nothing. An id is that
	// of a checkpoint, or of one call in it. partial leaves what cannot be restored.
	Preview(ctx context.Context, id string, partial bool) (Preview, error)
	// Restore does it. It refuses where later work would be lost.
	Restore(ctx context.Context, id string, partial bool) (note string, err error)
}

// Checkpoint is the state before one turn.
type Checkpoint struct {
	ID     string
	Time   time.Time
	Prompt string // what was asked for
	Calls  []CheckpointCall
}

// CheckpointCall is one call of that turn, which can be undone by itself.
type CheckpointCall struct {
	ID    string
	Tool  string
	Paths []string
}

// Preview is what restoring would do.
type Preview struct {
	Diff    string   // unified; "": nothing would change
	Paths   int      // how many would change
	Refused string   // why it would be refused; "": it would not
	Notes   []string // as files that cannot be restored
}

// About tells about the program and the session.
type About interface {
	About() []Fact
}

// Fact is something to tell.
type Fact struct{ Name, Value string }

// Agents are subagents.
type Agents interface {
	List() []Agent // in the order of their names
	Reload(ctx context.Context) (problems []string, err error)
}

// Agent is one of them.
type Agent struct {
	Name        string
	Description string
	Source      string // built-in, project, user, extension NAME
	Remote      bool
}

// Hooks are what runs at the events of a session.
type Hooks interface {
	List() []Hook // in the order in which they run
	SetEnabled(ctx context.Context, name string, on bool) error
	// Trust trusts the project's hooks as they are now, and returns what to tell.
	Trust(ctx context.Context) (note string, err error)
}

// Hook is one of them.
type Hook struct {
	Name    string
	Event   string
	Matcher string
	Command string
	Source  string // file, or extension NAME
	Enabled bool
	Trusted bool
}

// Extensions are what the user has installed.
type Extensions interface {
	List() []Extension // in the order of their names
	SetEnabled(ctx context.Context, name string, on bool) error
	Reload(ctx context.Context) (problems []string, err error)
}

// Extension is one of them.
type Extension struct {
	Name, Version string
	Path          string
	Active        bool
	Problem       string // "": none
}

// Folders are those of the workspace.
type Folders interface {
	List() []string // absolute, the target first
	Add(ctx context.Context, path string) error
}

// ContextFile is where the project's instructions for the model belong.
type ContextFile interface {
	// Find returns its absolute path, and whether it is there.
	Find(ctx context.Context) (path string, exists bool, err error)
}

// Mode is how much is done without asking.
type Mode interface {
	Mode() string // default, autoEdit, plan or yolo
	SetMode(ctx context.Context, mode string) error
}

// Package builtin provides the built-in slash commands, each over a small interface to
// the session.
package builtin

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/fault"
)

// Services are the services for the commands. A command whose field is nil is missing;
// the zero value leaves the commands without services, as /quit. Every method is called
// on the goroutine that runs the command, never concurrently with another of the same
// session. Its error is shown as a message with its remedy.
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
	Directories Directories // /directory
	ContextFile ContextFile // /init
	Mode        Mode        // /mode, /plan
	Dialogs     []string    // names of dialogs of the front end, see [commands.Dialog]: each becomes a command
	// Keys returns the keys of the front end for /help, as Markdown. nil: none.
	Keys func() string
}

// Catalog is the session's commands.
type Catalog interface {
	// List returns them sorted by name.
	List() []*commands.Command
	// Reload loads the commands of files, servers, skills and agents again.
	Reload(ctx context.Context) ([]fault.Problem, error)
}

// Clear are the services for a new conversation. Session is required; the others may be
// nil.
type Clear struct {
	Hooks   SessionHooks
	Chat    Chat
	Session NewSession
	Tokens  TokenCount
}

// SessionHooks are the hooks of the start and end of a session.
type SessionHooks interface {
	// SessionEnd runs the hooks of the end, with a reason as "clear". Errors of hooks
	// stop nothing.
	SessionEnd(ctx context.Context, reason string)
	// SessionStart runs the hooks of the start, with a source as "clear", and returns
	// their messages for the user.
	SessionStart(ctx context.Context, source string) (systemMessage string)
}

// Chat is the conversation with the model.
type Chat interface {
	Reset(ctx context.Context) error // clears its history
}

// NewSession starts a session with a new id: Config.StartNewSession, and a recording of
// its own.
type NewSession interface {
	StartNewSession(ctx context.Context) (id string, err error)
}

// TokenCount is the token display of the front end.
type TokenCount interface {
	SetTokens(n int)
}

// Tools are the tools of the model.
type Tools interface {
	List() []Tool // sorted by name
}

// Tool is one tool.
type Tool struct {
	Name        string
	Display     string // "": Name
	Description string
	Server      string          // its MCP server; "" if it has none
	Schema      json.RawMessage // of its arguments; nil: unknown
}

// Models selects the model.
type Models interface {
	Model() string // the current one
	// Known are names for completion and lists; others may exist.
	Known() []string
	// SetModel selects the model for the next prompt. save stores it in the user's
	// settings.
	SetModel(ctx context.Context, name string, save bool) error
}

// Chats are conversations saved under a tag.
type Chats interface {
	// List returns them, the oldest first.
	List(ctx context.Context) ([]SavedChat, error)
	// Save saves the current conversation. An existing tag is an error of code
	// attempt_to_create_existing_file unless overwrite is set.
	Save(ctx context.Context, tag string, overwrite bool) error
	// Load returns a saved conversation. The error is of code session_not_found if it
	// does not exist.
	Load(ctx context.Context, tag string) (commands.LoadHistory, error)
	// Delete deletes one. The error is as that of Load.
	Delete(ctx context.Context, tag string) error
}

// SavedChat is the summary of a saved conversation.
type SavedChat struct {
	Tag   string
	Saved time.Time
	Turns int // messages of the user and the model, with tool results
}

// Transcript is the text of the conversation.
type Transcript interface {
	LastAnswer() string // of the model; "" if there is none
	// Export writes the conversation to a file, relative to the target directory:
	// Markdown for *.md, else JSON. "" chooses a name. An existing file is an error of
	// code attempt_to_create_existing_file unless overwrite is set. It returns the
	// absolute path.
	Export(ctx context.Context, file string, overwrite bool) (path string, err error)
}

// Compressor compresses the conversation.
type Compressor interface {
	Compress(ctx context.Context) (Compressed, error)
}

// Compressed is the result of a compression.
type Compressed struct {
	Before, After int    // tokens
	Why           string // why nothing was done; "" if it was compressed
}

// Skills are instructions for kinds of work.
type Skills interface {
	List() []Skill // sorted by name
	// Activate adds the instructions of a skill to the system prompt.
	Activate(ctx context.Context, name string) error
	SetEnabled(ctx context.Context, name string, on bool) error
	Reload(ctx context.Context) (problems []string, err error)
}

// Skill is one skill.
type Skill struct {
	Name        string
	Description string
	Source      string // built-in, extension NAME, user, project
	Enabled     bool
	Active      bool
}

// Servers are the MCP servers.
type Servers interface {
	List() []Server // sorted by name
	// SignIn signs the user in, and returns a message.
	SignIn(ctx context.Context, server string) (note string, err error)
	Reload(ctx context.Context) error
	SetEnabled(ctx context.Context, server string, on bool) error
}

// Server is one server.
type Server struct {
	Name        string
	State       string // as "connected"
	Problem     string // the connection error; "" if there is none
	Description string
	Extension   string // its extension; "" if it has none
	Tools       []Tool
	Prompts     []string
	Resources   int    // counts
	Confinement string // of its program: "confined" or "unconfined"; "" for a server at a URL
}

// Trust is the trust in the directory.
type Trust interface {
	State() (dir, state string) // trusted, untrusted or undecided
	// SetTrust records it for a directory, "" for the target, and returns a message, for
	// example that it applies from the next session; "": none.
	SetTrust(ctx context.Context, dir string, trusted bool) (note string, err error)
}

// Policy is the current policy.
type Policy interface {
	Rules() []Rule // in the order of evaluation
}

// Rule is one rule.
type Rule struct {
	Decision string // allow, deny, ask_user
	About    string // its subject and conditions, as run_shell_command(git status) in plan
	Name     string // from its file; may be empty
	Priority float64
	Tier     string // as user, or session
	Source   string // file and line
}

// Memory is the context of the model from context files.
type Memory interface {
	Files(ctx context.Context) ([]MemoryFile, error) // in the order in which the model receives them
	Reload(ctx context.Context) error
	// CanAdd: the tool save_memory, which /memory add calls, is available.
	CanAdd() bool
}

// MemoryFile is one context file.
type MemoryFile struct {
	Path string
	Text string
}

// Stats returns statistics of a session.
type Stats interface {
	Stats() Numbers
}

// Numbers are the statistics.
type Numbers struct {
	SessionID string
	Started   time.Time
	Elapsed   time.Duration
	Prompts   int
	Models    []ModelNumbers
	Tools     []ToolNumbers
	Approvals ApprovalNumbers
	Added     int // lines that file changes added
	Removed   int
}

// ApprovalNumbers count calls. One call may count more than once.
type ApprovalNumbers struct {
	Prompts  int // an approver was asked
	Free     int // run without approval
	Confined int // run in a sandbox
	Refused  int // by policy, by the approver, or without one
}

// ModelNumbers are the statistics of one model. Tokens may be 0 if a provider does not
// report them.
type ModelNumbers struct {
	Model                 string
	Requests, Failed      int
	Input, Cached, Output int // tokens
	Waited                time.Duration
	Cost                  string // of the tokens, or why it is unknown, such as "cost 0.12"; "": not shown
}

// ToolNumbers are the statistics of one tool.
type ToolNumbers struct {
	Tool               string
	Calls, Failed      int
	Accepted, Rejected int // by the user
	Took               time.Duration
}

// Checkpoints are states of the files that can be restored.
type Checkpoints interface {
	// List returns them, the latest first.
	List(ctx context.Context) ([]Checkpoint, error)
	// Preview describes the effect of a restore without changing files. An id is that of
	// a checkpoint, or of one call in it. partial skips files that cannot be restored.
	Preview(ctx context.Context, id string, partial bool) (Preview, error)
	// Restore restores files. It refuses to overwrite later changes.
	Restore(ctx context.Context, id string, partial bool) (note string, err error)
}

// Checkpoint is the state before one turn.
type Checkpoint struct {
	ID     string
	Time   time.Time
	Prompt string // the prompt
	Calls  []CheckpointCall
}

// CheckpointCall is one call of that turn, which can be undone separately.
type CheckpointCall struct {
	ID    string
	Tool  string
	Paths []string
}

// Preview is the effect of a restore.
type Preview struct {
	Diff    string   // unified; "" if nothing would change
	Paths   []string // files that would change
	Refused string   // why it would be refused; "" if it would not
	Notes   []string // for example files that cannot be restored
}

// About returns facts about the program and the session.
type About interface {
	About() []Fact
}

// Fact is one fact.
type Fact struct{ Name, Value string }

// Agents are subagents.
type Agents interface {
	List() []Agent // sorted by name
	Reload(ctx context.Context) (problems []string, err error)
}

// Agent is one agent.
type Agent struct {
	Name        string
	Description string
	Source      string // built-in, project, user, extension NAME
	Remote      bool
}

// Hooks are the hooks of a session.
type Hooks interface {
	List() []Hook // in the order in which they run
	SetEnabled(ctx context.Context, name string, on bool) error
	// Trust approves the project's hooks in their current state, and returns a message.
	Trust(ctx context.Context) (note string, err error)
}

// Hook is one hook.
type Hook struct {
	Name    string
	Event   string
	Matcher string
	Command string
	Source  string // file, or extension NAME
	Enabled bool
	Trusted bool
}

// Extensions are the installed extensions.
type Extensions interface {
	List() []Extension // sorted by name
	SetEnabled(ctx context.Context, name string, on bool) error
	Reload(ctx context.Context) (problems []string, err error)
}

// Extension is one extension.
type Extension struct {
	Name, Version string
	Path          string
	Active        bool
	Problem       string // "" if it has none
}

// Directories are the directories of the workspace.
type Directories interface {
	List() []string // absolute, the target first
	Add(ctx context.Context, path string) error
}

// ContextFile is the file for the project's instructions to the model.
type ContextFile interface {
	// Find returns its absolute path, and whether it exists.
	Find(ctx context.Context) (path string, exists bool, err error)
}

// Mode is the approval mode.
type Mode interface {
	Mode() string // see policy.Modes
	SetMode(ctx context.Context, mode string) error
}

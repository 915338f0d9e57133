// Package subagent runs agents on behalf of other agents. It reads their definitions and makes each
// of them a tool. A call of that tool runs a separate conversation with its own tools and limits,
// and returns only its result.
package subagent

import (
	"encoding/json"
	"time"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// Definition defines an agent. [Parse] reads it from agent.md files; an embedder creates it as a
// value. It must not be changed once a tool was made of it. Name, Description and, for a local
// agent, Prompt are required. A zero field elsewhere is its default.
type Definition struct {
	Name        string // name of the tool: a-z, 0-9, "_" and "-", at most 63 bytes
	DisplayName string // for display; "" means Name
	Description string // for the model that may call the agent
	Kind        Kind   // "" means KindLocal

	// Prompt is the system prompt; ${name} is replaced by a value, see [Expand].
	Prompt string
	// Query is the user's first turn, expanded like Prompt. "": the argument query, or without it,
	// the arguments as JSON.
	Query string
	// InitialMessages are the turns before the query, their texts expanded like Prompt.
	InitialMessages []model.Content

	// Tools are names, aliases and wildcards of the caller's tools that the agent has; see
	// [Select]. nil: all of them; empty: none.
	Tools []string
	// DisallowedTools removes tools from Tools, in the same form. nil: none.
	DisallowedTools []string
	// OnlyCommands and DeniedCommands are prefixes of the command lines that the agent may and may
	// not run with run_shell_command. nil: all may run, and none is denied. The host enforces them.
	OnlyCommands, DeniedCommands []string
	// Mode is the most permissive approval mode of a run, never yolo. A stricter
	// mode of the caller takes precedence. "": the caller's. The host enforces it.
	Mode string
	// Fork lets each run work on a fork of the session's files, which the host creates and merges.
	Fork bool
	// Values are additional tools, in the agent's own registry.
	Values []tools.DeclarativeTool

	Model       string        // "": the caller's
	Temperature *float64      // nil: the provider's default
	MaxTurns    int           // requests to the model; 0 or less: DefaultMaxTurns
	MaxTime     time.Duration // without waits for the user; 0 or less: DefaultMaxTime

	// Input is the JSON schema of the arguments, which is that of an object. nil: one required
	// text, query.
	Input json.RawMessage
	// Output describes the report of the agent. nil: a text.
	Output *Output
	// ProcessOutput converts the report to the text for the caller. The report is JSON that matches
	// Output's schema, or a JSON string without Output. nil: a string is used as it is, anything
	// else as JSON.
	ProcessOutput func(report json.RawMessage) (string, error)

	Remote *Remote // location of a remote agent; required for one
	Source Source
}

// The limits of a definition that sets none.
const (
	DefaultMaxTurns = 30
	DefaultMaxTime  = 10 * time.Minute
)

// Kind states where an agent runs.
type Kind string

// The kinds.
const (
	KindLocal  Kind = "local"  // in this process, on a model
	KindRemote Kind = "remote" // on a server that supports A2A
)

// Display returns DisplayName, or Name if it is empty.
func (d *Definition) Display() string {
	if d.DisplayName != "" {
		return d.DisplayName
	}
	return d.Name
}

// IsRemote reports whether the agent runs on a server.
func (d *Definition) IsRemote() bool { return d.Kind == KindRemote }

// Output describes the report of an agent: one argument of complete_task.
type Output struct {
	Name        string          // of the argument; required
	Description string          // expected content; required
	Schema      json.RawMessage // its JSON schema; required
}

// Remote locates a remote agent. Exactly one of CardURL and CardJSON is set.
type Remote struct {
	CardURL  string // URL of the agent's card, or of the host that serves it at the well-known path
	CardJSON string // the card itself
	Auth     *Auth  // nil: none
}

// Auth is the authentication at a remote agent. Its secrets are as written in the definition, see
// [Secret].
type Auth struct {
	Type AuthType

	Header string // of AuthAPIKey: the header for Key; "": X-API-Key
	Key    Secret

	Scheme   string // of AuthHTTP: "Bearer" with Token, "Basic" with Username and Password, or any with Value
	Token    Secret
	Username Secret
	Password Secret
	Value    Secret
}

// AuthType is an authentication method.
type AuthType string

// The authentication methods.
const (
	AuthAPIKey AuthType = "apiKey"
	AuthHTTP   AuthType = "http"
)

// Secret is a value that must not be shown, as written in a definition. $NAME is an environment
// variable, and a leading "!" the output of a command. $$ and !! escape those characters. Anything
// else is literal. Printed or encoded, a Secret shows which of these it is, and never a literal.
type Secret string

// String returns the name of the variable, or states that there is a value.
func (s Secret) String() string {
	switch name, ok := s.Variable(); {
	case s == "":
		return ""
	case ok:
		return "$" + name
	case s.IsCommand():
		return "(a command's output)"
	}
	return "(hidden)"
}

// GoString keeps %#v from showing the value.
func (s Secret) GoString() string { return s.String() }

// MarshalJSON encodes the result of String.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText encodes the result of String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// IsCommand reports whether the value is a command's output.
func (s Secret) IsCommand() bool { return len(s) > 1 && s[0] == '!' && s[1] != '!' }

// Variable returns the name of the variable, and whether the value is one.
func (s Secret) Variable() (string, bool) {
	if len(s) < 2 || s[0] != '$' {
		return "", false
	}
	for i, c := range []byte(s[1:]) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return "", false
		}
	}
	return string(s[1:]), true
}

// Command returns the command whose output is the value; see IsCommand.
func (s Secret) Command() string { return string(s[1:]) }

// Literal returns a literal value; a leading $$ or !! becomes one character.
func (s Secret) Literal() string {
	if len(s) > 1 && (s[:2] == "$$" || s[:2] == "!!") {
		return string(s[1:])
	}
	return string(s)
}

// Source is the origin of a definition.
type Source struct {
	Scope     Scope
	Path      string // of the file; "" for none
	Line      int    // 1-based, where the definition begins; 0 for none
	Extension string // extension that provides it; "": none
	// Claude: the definition was written for Claude Code. Its name defaults to that of the
	// file, ${name} in its prompt is text, and aliases of models mean the caller's model.
	Claude bool
	// Hash is the SHA-256 of the file in lower-case hex, so that a host can ask for consent to
	// exactly this content; "" without a file.
	Hash string
}

// Scope is the owner of a definition.
type Scope string

// The scopes, by precedence: the first definition of a name is used.
const (
	ScopeBuiltIn   Scope = "built-in" // fettle, or the embedder
	ScopeProject   Scope = "project"
	ScopeUser      Scope = "user"
	ScopeExtension Scope = "extension"
)

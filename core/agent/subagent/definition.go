// Package subagent runs agents that work for another one: it reads their
// definitions, makes each of them a tool, and runs it as a conversation of its
// own, with its own tools and limits, of which only the result comes back.
package subagent

import (
	"encoding/json"
	"time"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// Definition says what an agent is. [Parse] makes them of agent.md
// files, an embedder makes them as values. Whoever made a tool of one does not
// change it any more. Name, Description and, for a local agent, Prompt are
// required; a zero field elsewhere is its default.
type Definition struct {
	Name        string // what the model calls: a-z, 0-9, "_" and "-", at most 63 bytes
	DisplayName string // for people; "" means Name
	Description string // for the model that may call the agent
	Kind        Kind   // "" means KindLocal

	// Prompt is the system prompt, in which ${name} stands for a value; see
	// [Expand].
	Prompt string
	// Query is the user's first turn, expanded like Prompt. "": the argument
	// query, or where there is none, the arguments as JSON.
	Query string
	// InitialMessages are the turns before it, their texts expanded like Prompt.
	InitialMessages []model.Content

	// Tools are names, aliases and wildcards of the caller's tools that the agent
	// has; see [Select]. nil: all of them; empty: none.
	Tools []string
	// DisallowedTools are those of them that the agent does not have, in the same
	// form. nil: none.
	DisallowedTools []string
	// OnlyCommands and DeniedCommands are how the command lines begin that the agent
	// may run with run_shell_command, and those that it may not. nil: all, and none.
	// The host applies them.
	OnlyCommands, DeniedCommands []string
	// Mode is the most permissive approval mode of a run: plan, default or autoEdit.
	// A stricter mode of the caller holds. "": the caller's. The host applies it.
	Mode string
	// Values are tools that the agent has beside those, in its own registry.
	Values []tools.DeclarativeTool

	Model       string        // "": the caller's
	Temperature *float64      // nil: the provider's default
	MaxTurns    int           // requests to the model; 0 or less: DefaultMaxTurns
	MaxTime     time.Duration // waiting for people not counted; 0 or less: DefaultMaxTime

	// Input is the JSON schema of the arguments, an object's. nil: one required
	// text, query.
	Input json.RawMessage
	// Output is what the agent has to report. nil: a text.
	Output *Output
	// ProcessOutput turns the report into what the caller is told. It is
	// given a JSON value that fits Output's schema, or where there is no Output a
	// JSON string. nil: a string as it is, anything else as JSON.
	ProcessOutput func(report json.RawMessage) (string, error)

	Remote *Remote // where a remote agent is found; required for one
	Source Source
}

// The limits where a definition names none.
const (
	DefaultMaxTurns = 30
	DefaultMaxTime  = 10 * time.Minute
)

// Kind says where an agent runs.
type Kind string

// The kinds.
const (
	KindLocal  Kind = "local"  // in this process, on a model
	KindRemote Kind = "remote" // at a server that speaks A2A
)

// Display returns DisplayName, or Name where that is empty.
func (d *Definition) Display() string {
	if d.DisplayName != "" {
		return d.DisplayName
	}
	return d.Name
}

// IsRemote reports whether the agent runs at a server.
func (d *Definition) IsRemote() bool { return d.Kind == KindRemote }

// Output is the report that an agent owes: one argument of complete_task.
type Output struct {
	Name        string          // of the argument; required
	Description string          // what belongs into it; required
	Schema      json.RawMessage // its JSON schema; required
}

// Remote says where a remote agent is. Exactly one of CardURL and CardJSON is
// set.
type Remote struct {
	CardURL  string // of the agent's card, or of the host that has it at the well-known path
	CardJSON string // the card itself
	Auth     *Auth  // nil: none
}

// Auth is how a remote agent is told who asks. Its secrets are as they were
// written: see [Secret].
type Auth struct {
	Type AuthType

	Header string // of AuthAPIKey: the header that holds Key; "": X-API-Key
	Key    Secret

	Scheme   string // of AuthHTTP: "Bearer" with Token, "Basic" with Username and Password, or any with Value
	Token    Secret
	Username Secret
	Password Secret
	Value    Secret
}

// AuthType is a way to authenticate.
type AuthType string

// The ways.
const (
	AuthAPIKey AuthType = "apiKey"
	AuthHTTP   AuthType = "http"
)

// Secret is a value that must not be shown, as a definition has it: $NAME
// stands for a variable of the environment, "!" at its beginning for the output
// of a command, $$ and !! for the signs themselves, anything else for itself.
// Printed or encoded it shows which of these it is, and never a literal.
type Secret string

// String returns the name of the variable, or that there is a value.
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

// MarshalJSON encodes what String returns.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText encodes what String returns.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// IsCommand reports whether the value is a command's output.
func (s Secret) IsCommand() bool { return len(s) > 1 && s[0] == '!' && s[1] != '!' }

// Variable returns the variable that the value is, and whether it is one.
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

// Literal returns the value that is written out: $$ and !! at the beginning are
// one sign.
func (s Secret) Literal() string {
	if len(s) > 1 && (s[:2] == "$$" || s[:2] == "!!") {
		return string(s[1:])
	}
	return string(s)
}

// Source is where a definition comes from.
type Source struct {
	Scope     Scope
	Path      string // of the file; "" for none
	Line      int    // 1-based, where the definition begins; 0 for none
	Extension string // that brought it; "" elsewhere
	// Hash is the SHA-256 of the file, in lower-case hex, so that a host can ask
	// for consent to exactly this content; "" where there is no file.
	Hash string
}

// Scope says who gave a definition.
type Scope string

// The scopes, in the order in which the first of a name wins.
const (
	ScopeBuiltIn   Scope = "built-in" // fettle, or the embedder
	ScopeProject   Scope = "project"
	ScopeUser      Scope = "user"
	ScopeExtension Scope = "extension"
)

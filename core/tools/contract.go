// Package tools holds the contract of a tool: a [DeclarativeTool] says what
// it is and builds a [ToolInvocation] from checked arguments, and a
// [Registry] keeps a session's tools in order. It knows no tool, no file and
// no Config.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// DeclarativeTool is a tool's definition (AR-12). It is immutable, and safe
// for concurrent use; whatever a session owns it reaches through the services
// that it was bound to.
type DeclarativeTool interface {
	// Spec describes the tool. The value is the same at each call.
	Spec() Spec
	// Build checks args against the schema, then by the tool's own rules
	// (AR-13), and returns an invocation of its own. A failure is a
	// *fault.Error, most often of code invalid_tool_params. Build does no I/O.
	Build(args json.RawMessage) (ToolInvocation, error)
}

// ToolInvocation is one call with checked parameters (AR-12). It can be
// confirmed and then executed, in that order and each at most once; it is not
// for concurrent use.
type ToolInvocation interface {
	// Params returns the arguments as they will be executed: rewritten,
	// repaired and canonical JSON. Policy judges these.
	Params() json.RawMessage
	// Description says in one line what this call will do.
	Description() string
	// Locations lists the paths that the call will touch.
	Locations() []Location
	// Confirmation returns what a person should approve, or nil for the
	// default question. It returns [ErrWillRefuse] when the call would be
	// refused anyway: it is then executed without a question, and reports
	// its refusal (FS-42). Any other error refuses the call (PR-21).
	Confirmation(ctx context.Context) (*Confirmation, error)
	// Execute runs the call. A failure that the model should see is in
	// Result.Error; the error is for the host: a defect or an ended ctx.
	Execute(ctx context.Context, out Output) (Result, error)
}

// Modifiable is an invocation whose proposed content a person may replace
// before it runs (AR-21).
type Modifiable interface {
	ToolInvocation
	// Modify returns an invocation of the same call with newContent in place
	// of what the model proposed, to be decided about, confirmed and executed
	// instead of the receiver, which is not used again. Nothing is carried over
	// that was checked for the proposal: the new invocation proves and checks
	// everything again. Params of it are what will be done now. A failure is a
	// *fault.Error; ctx bounds the reading that may be needed.
	Modify(ctx context.Context, newContent string) (ToolInvocation, error)
}

// ErrWillRefuse is returned by Confirmation when the invocation already knows
// that its execution will refuse. An invocation that returned it never
// succeeds (FS-43).
var ErrWillRefuse = errors.New("tools: the call will be refused when executed")

// Refusal is an [ErrWillRefuse] that holds the refusal whole: where the call
// is not executed even then, as in plan mode, it is the response.
type Refusal struct {
	Result Result // what Execute would return; its Error is set
}

// WillRefuse returns a [Refusal] that holds result.
func WillRefuse(result Result) error { return &Refusal{result} }

// Error says that the call will be refused, and why.
func (r *Refusal) Error() string { return ErrWillRefuse.Error() + ": " + r.Result.Error.Error() }

// Is matches [ErrWillRefuse].
func (r *Refusal) Is(target error) bool { return target == ErrWillRefuse }

// Unwrap returns the reason, a *fault.Error.
func (r *Refusal) Unwrap() error { return r.Result.Error }

// Output receives live output while a call runs. A nil Output drops it. It
// must not be called after Execute has returned.
type Output func(chunk string)

// Write sends chunk if anybody listens.
func (o Output) Write(chunk string) {
	if o != nil {
		o(chunk)
	}
}

// Location is a place that a call touches.
type Location struct {
	Path string `json:"path"`           // absolute
	Line int    `json:"line,omitempty"` // 0-based first line, as the offset parameter; 0 also when unknown
}

// Spec describes a tool.
type Spec struct {
	Name        string          // what the model calls; required; [A-Za-z0-9_.:-], at most 63 bytes
	Aliases     []string        // other names that calls and lists may use; never declared to a model
	GovernedBy  []string        // names whose exclusions, and rules that deny or ask, hold for this tool too; what allows does not
	DisplayName string          // for people; "" means Name
	Description string          // for the model; required
	Kind        Kind            // required
	Schema      json.RawMessage // JSON schema of the arguments, type object, closed to unknown keys
	Effects     []Effect        // what it may do to the world; see Mutates
	Origin      Origin          // who brought it; zero is a built-in

	// OutputSchema is the JSON schema of Result.Structured; nil: the tool promises
	// none. It is for programs and not declared to a model. See also [PreviewSchema].
	OutputSchema json.RawMessage
	// Annotations are what the tool's server says of it, as
	// {"readOnlyHint": true}: not verified, for rules and people. nil: nothing.
	Annotations map[string]any

	OutputIsMarkdown bool // the display is Markdown
	StreamsOutput    bool // Execute may call its Output
	Parallel         bool // two invocations may run at once
}

// Display returns DisplayName, or Name where that is empty.
func (s Spec) Display() string {
	if s.DisplayName != "" {
		return s.DisplayName
	}
	return s.Name
}

// Mutates reports whether the tool changes something, so that it is asked about
// and never run in plan mode: its kind says so (AR-16), or it declares an
// effect that may, write_files or run_process.
func (s Spec) Mutates() bool { return s.Kind.Mutates() || changing(s.Effects) != "" }

// ServerTool returns the name that an MCP tool has at its server: Origin.Tool, or
// what Name says where that is empty. It is "" for other tools.
func (s Spec) ServerTool() string {
	switch {
	case s.Origin.Server == "":
		return ""
	case s.Origin.Tool != "":
		return s.Origin.Tool
	}
	return strings.TrimPrefix(s.Name, mcpPrefix+s.Origin.Server+"_")
}

// changing returns the first effect that may change something, or "".
func changing(effects []Effect) Effect {
	for _, e := range effects {
		if e == EffectWriteFiles || e == EffectRunProcess {
			return e
		}
	}
	return ""
}

// Kind is a tool's class, which decides what is asked about where no policy
// rule does (AR-16, AR-25).
type Kind string

// The kinds.
const (
	KindRead        Kind = "read"
	KindEdit        Kind = "edit"
	KindDelete      Kind = "delete"
	KindMove        Kind = "move"
	KindSearch      Kind = "search"
	KindExecute     Kind = "execute"
	KindThink       Kind = "think"
	KindFetch       Kind = "fetch"
	KindCommunicate Kind = "communicate"
	KindOther       Kind = "other"
)

// Kinds lists every kind, in the order above.
func Kinds() []Kind {
	return []Kind{KindRead, KindEdit, KindDelete, KindMove, KindSearch, KindExecute,
		KindThink, KindFetch, KindCommunicate, KindOther}
}

// Valid reports whether k is one of [Kinds].
func (k Kind) Valid() bool {
	for _, v := range Kinds() {
		if k == v {
			return true
		}
	}
	return false
}

// Mutates reports whether tools of this kind change something: edit, delete,
// move and execute (AR-16). See also [Spec.Mutates].
func (k Kind) Mutates() bool {
	return k == KindEdit || k == KindDelete || k == KindMove || k == KindExecute
}

// harmless reports whether tools of this kind are never asked about (AR-25),
// and so must not change anything.
func (k Kind) harmless() bool {
	return k == KindRead || k == KindSearch || k == KindThink || k == KindCommunicate
}

// Effect names one thing that a tool may do to the world.
type Effect string

// The effects.
const (
	EffectReadFiles  Effect = "read_files"
	EffectWriteFiles Effect = "write_files"
	EffectRunProcess Effect = "run_process"
	EffectNetwork    Effect = "network"
	EffectAskPerson  Effect = "ask_person"
)

// Origin says who brought a tool.
type Origin struct {
	Group  Group  // zero is GroupBuiltIn
	Server string // MCP server name; "" elsewhere
	Tool   string // the tool's own name at that server; "": see [Spec.ServerTool]
}

// Group orders tools in listings (AR-07).
type Group int

// The groups, in listing order.
const (
	GroupBuiltIn Group = iota
	GroupDiscovered
	GroupMCP
)

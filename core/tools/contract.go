// Package tools defines the contract of a tool. A [DeclarativeTool] describes a tool and builds a [ToolInvocation] from
// validated arguments; the scheduler confirms and executes the invocation. [Define] makes a tool of a Go function,
// [NewFactory] one that is bound to the services of each session. A [Registry] holds the tools of a session.
//
// The package depends on no specific tool, file system or configuration.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// DeclarativeTool is the definition of a tool. It is immutable and safe for concurrent use. It reaches session state
// through the services that it was bound to.
type DeclarativeTool interface {
	// Spec describes the tool. It returns the same value at each call.
	Spec() Spec
	// Build validates args against the schema and the tool's own rules, and returns a new invocation. A failure is a
	// *fault.Error, usually with code invalid_tool_params. Build does no I/O.
	Build(args json.RawMessage) (ToolInvocation, error)
}

// ToolInvocation is one call with validated parameters. It can be confirmed and then executed, in that order and each at
// most once, and again after [ErrConfirmAgain]. It is not safe for concurrent use.
type ToolInvocation interface {
	// Params returns the arguments as they will be executed: rewritten, repaired and canonical JSON. Policy decides on
	// these.
	Params() json.RawMessage
	// Description describes the effect of this call in one line.
	Description() string
	// Locations returns the paths that the call will access.
	Locations() []Location
	// Confirmation returns the details for the approver, or nil for the default question. It returns [ErrWillRefuse] if
	// execution would fail anyway: the call is then executed without approval, and returns its error. Any other error
	// ends the call.
	Confirmation(ctx context.Context) (*Confirmation, error)
	// Execute runs the call. A failure for the model is in Result.Error. The error is for the host: an internal error, an
	// ended ctx, or [ErrConfirmAgain].
	Execute(ctx context.Context, out Output) (Result, error)
}

// Modifiable is an invocation whose proposed content the user may edit before it runs.
type Modifiable interface {
	ToolInvocation
	// Modify returns an invocation of the same call with newContent instead of the proposed content. It replaces the
	// receiver, which is not used again, and goes through policy, confirmation and execution. No check of the proposal
	// carries over: the new invocation repeats all of them. Its Params describe the edited call. A failure is a
	// *fault.Error; ctx bounds any reading of files.
	Modify(ctx context.Context, newContent string) (ToolInvocation, error)
}

// Confinable is an invocation that runs a command, which the session may be able to confine.
type Confinable interface {
	ToolInvocation
	// Confine returns an invocation of the same call whose command runs as policy decided: confined, confined_read,
	// which also denies writing in the workspace, or unconfined. It replaces the receiver, which is not used again.
	Confine(how string) ToolInvocation
}

// PerFile is implemented by a [ToolInvocation] whose files are named in another way than by an argument file_path. Policy decides about each
// file as about a call with that argument in addition, and the strictest decision applies to the call.
type PerFile interface {
	// Files returns the paths, absolute; none: policy decides about the call as it is.
	Files() []string
}

// ErrWillRefuse is returned by Confirmation if the invocation already knows that its execution will fail. An invocation
// that returned it never succeeds.
var ErrWillRefuse = errors.New("tools: the call will be refused when executed")

// ErrConfirmAgain is returned by Execute if the call would now change something other than what was confirmed. It has
// changed nothing. The scheduler decides about the same invocation again, with confirmation if it is required, and
// executes it again.
var ErrConfirmAgain = errors.New("tools: the call must be confirmed again")

// Refusal is an [ErrWillRefuse] with the complete result. It is the response if the call is not executed at all, as in
// plan mode.
type Refusal struct {
	Result Result // the result of Execute; its Error is set
}

// WillRefuse returns a [Refusal] with result.
func WillRefuse(result Result) error { return &Refusal{result} }

// Error returns the reason of the refusal.
func (r *Refusal) Error() string { return ErrWillRefuse.Error() + ": " + r.Result.Error.Error() }

// Is reports whether target is [ErrWillRefuse].
func (r *Refusal) Is(target error) bool { return target == ErrWillRefuse }

// Unwrap returns the reason, a *fault.Error.
func (r *Refusal) Unwrap() error { return r.Result.Error }

// Output receives live output while a call runs. A nil Output discards it. It must not be called after Execute has
// returned.
type Output func(chunk string)

// Write sends chunk unless o is nil.
func (o Output) Write(chunk string) {
	if o != nil {
		o(chunk)
	}
}

// Location is a path that a call accesses.
type Location struct {
	Path string `json:"path"`           // absolute
	Line int    `json:"line,omitempty"` // 0-based first line, like the offset parameter; 0 if unknown
}

// Spec describes a tool.
type Spec struct {
	Name        string          // required; [A-Za-z0-9_.:-], at most 63 bytes
	Aliases     []string        // other names for calls and lists; never declared to a model
	GovernedBy  []string        // names whose exclusions, and rules that deny or ask, apply to this tool too; rules that allow do not
	DisplayName string          // for the user; "" means Name
	Description string          // for the model; required
	Kind        Kind            // required
	Schema      json.RawMessage // JSON schema of the arguments, type object, without additional properties
	Effects     []Effect        // possible side effects; see Mutates
	Origin      Origin          // source of the tool; zero is a built-in

	// OutputSchema is the JSON schema of Result.Structured; nil: none is guaranteed. It is for programs and not declared
	// to a model. See also [PreviewSchema].
	OutputSchema json.RawMessage
	// Annotations are the server's annotations of the tool, such as {"readOnlyHint": true}. They are not verified; rules
	// and the user see them. nil: none.
	Annotations map[string]any

	// Varies names arguments that may differ in the calls that an approval with "always" covers; all others must be equal.
	// nil: all must be equal.
	Varies []string

	OutputIsMarkdown bool // the display is Markdown
	StreamsOutput    bool // Execute may call its Output
	Parallel         bool // invocations may run concurrently
}

// Display returns DisplayName, or Name if that is empty.
func (s Spec) Display() string {
	if s.DisplayName != "" {
		return s.DisplayName
	}
	return s.Name
}

// Mutates reports whether the tool changes something, by its kind or by a declared effect (write_files or run_process).
// Such a tool needs approval and never runs in plan mode.
func (s Spec) Mutates() bool { return s.Kind.Mutates() || changing(s.Effects) != "" }

// ServerTool returns the name of an MCP tool at its server: Origin.Tool, or the name that Name implies if that is empty.
// It returns "" for other tools.
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

// Kind is the class of a tool. It decides whether a call needs approval if no policy rule does.
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

// kinds lists every kind, in the order above.
func kinds() []Kind {
	return []Kind{KindRead, KindEdit, KindDelete, KindMove, KindSearch, KindExecute,
		KindThink, KindFetch, KindCommunicate, KindOther}
}

// Valid reports whether k is one of the constants above.
func (k Kind) Valid() bool {
	for _, v := range kinds() {
		if k == v {
			return true
		}
	}
	return false
}

// Mutates reports whether tools of this kind change something: edit, delete, move and execute. See also [Spec.Mutates].
func (k Kind) Mutates() bool {
	return k == KindEdit || k == KindDelete || k == KindMove || k == KindExecute
}

// harmless reports whether tools of this kind never need approval, and therefore must not change anything.
func (k Kind) harmless() bool {
	return k == KindRead || k == KindSearch || k == KindThink || k == KindCommunicate
}

// Effect is a possible side effect of a tool.
type Effect string

// The effects.
const (
	EffectReadFiles  Effect = "read_files"
	EffectWriteFiles Effect = "write_files"
	EffectRunProcess Effect = "run_process"
	EffectNetwork    Effect = "network"
	EffectAskUser    Effect = "ask_person"
)

// Origin is the source of a tool.
type Origin struct {
	Group  Group  // zero is GroupBuiltIn
	Server string // MCP server name; "" elsewhere
	Tool   string // name of the tool at that server; "": see [Spec.ServerTool]
}

// Group orders tools in listings.
type Group int

// The groups, in listing order.
const (
	GroupBuiltIn Group = iota
	GroupDiscovered
	GroupMCP
)

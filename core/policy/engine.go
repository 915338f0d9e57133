package policy

import (
	"encoding/json"
)

// Options are the parts of an [Engine].
type Options struct {
	Rules    []Rule
	Checkers []Checker
	PlansDir string   // absolute folder whose *.md files plan mode may write; "": none
	Servers  []string // names of the MCP servers that are known

	// DisableAlwaysAllow leaves out what people have approved for good: rules
	// that allow at AlwaysAllowPriority, and session rules.
	DisableAlwaysAllow bool
}

// Engine decides about calls by rules.
type Engine struct{}

// NewEngine returns an engine.
func NewEngine(o Options) (*Engine, error) { return &Engine{}, nil }

// Decide decides about a call.
func (e *Engine) Decide(c Call) Decision { return KindTable{}.Decide(c) }

// Paths lists the paths that Decide wants Call.RealPaths of.
func (e *Engine) Paths(c Call) []string { return nil }

// Prepare takes the command line of a shell call apart.
func (e *Engine) Prepare(c *Call) {}

// Add puts session rules in force.
func (e *Engine) Add(rules ...Rule) error { return nil }

// Rules lists the rules in their effective order.
func (e *Engine) Rules() []Rule { return nil }

// Scope says how far an approval reaches.
type Scope string

// The scopes of approvals (AR-20).
const (
	ScopeSession Scope = "session" // proceed_always
	ScopeSaved   Scope = "saved"   // proceed_always_and_save
	ScopeTool    Scope = "tool"    // proceed_always_tool
	ScopeServer  Scope = "server"  // proceed_always_server
)

// Narrow returns rules that remember the approval of c.
func (e *Engine) Narrow(c Call, s Scope) ([]Rule, error) { return nil, nil }

// Validate reports what makes the rule unusable.
func (r Rule) Validate() error { return nil }

// Effective returns the rule's rank.
func (r Rule) Effective() float64 { return float64(r.Tier) + float64(r.Priority)/1000 }

// String returns the rule in short form.
func (r Rule) String() string { return string(r.Decision) + " " + r.Name }

// CanonicalArgs returns the string that an ArgsPattern is searched in.
func CanonicalArgs(params json.RawMessage) (string, error) { return string(params), nil }

// WellKnown returns what is known of a built-in tool by name or alias.
func WellKnown(tool string) (Call, bool) { return Call{}, false }

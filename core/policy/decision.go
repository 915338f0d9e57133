package policy

// Verdict is the policy's verdict about a call.
type Verdict string

// The verdicts.
const (
	Allow   Verdict = "allow"    // run without approval
	Deny    Verdict = "deny"     // do not run
	AskUser Verdict = "ask_user" // run if an approver approves
)

// strictness orders verdicts: allow < ask_user < deny. An invalid verdict is as
// strict as deny.
func (v Verdict) strictness() int {
	switch v {
	case Allow:
		return 0
	case AskUser:
		return 1
	}
	return 2
}

// Stricter returns the stricter of two verdicts.
func Stricter(a, b Verdict) Verdict {
	if b.strictness() > a.strictness() {
		return b
	}
	return a
}

// Decision is a verdict with its explanation. Reason is never empty; Rule, Tier,
// Source and Line identify the origin of the verdict and are zero without one.
type Decision struct {
	Decision Verdict `json:"decision"`
	Rule     string  `json:"rule"`               // the rule as its author named it, or in short form
	Tier     string  `json:"tier"`               // default, extension, workspace, session, user or admin
	Source   string  `json:"source"`             // file, flag or table that contains it
	Line     int     `json:"line"`               // 1-based, in Source; 0: not in a file
	Reason   string  `json:"reason"`             // for display: what in the call matched, or why nothing did
	Remedy   string  `json:"remedy,omitempty"`   // what would change the verdict
	Message  string  `json:"message,omitempty"`  // the denying rule's denyMessage, for the model
	Confined string  `json:"confined,omitempty"` // the confinement of the call's command, for example "landlock"
	Run      Run     `json:"run,omitempty"`      // how the command runs once it is allowed or approved; "" unless Call.Confinable is set
	Parts    []Part  `json:"parts"`              // of a command line, in order; empty for other calls

	// Checkers must run before the call, in this order; the scheduler runs them
	// on the call, or on [Checker].About, and they can only tighten.
	Checkers []Checker `json:"-"`
	// Protected marks a change of a file that determines what runs later: the
	// mode autoEdit does not cover it.
	Protected bool `json:"-"`
	// Unnamed marks a call of an MCP tool that no rule can allow by the tool's
	// name alone, because the name may be that of another server's tool.
	Unnamed bool `json:"-"`
	// Previews marks a call that plan mode shows instead of running; its verdict
	// is ask_user.
	Previews bool `json:"preview,omitempty"`
}

// Generated reports whether the verdict is due to a generated rule of the default
// tier.
func (d Decision) Generated() bool { return d.Source == builtIn }

// Part is the decision on one part of a command line.
type Part struct {
	Text     string  `json:"text"` // the part, as bash will run it
	Decision Verdict `json:"decision"`
	Rule     string  `json:"rule,omitempty"`
	Tier     string  `json:"tier,omitempty"`
	Source   string  `json:"source,omitempty"`
	Line     int     `json:"line,omitempty"`
	Reason   string  `json:"reason,omitempty"`
}

// Generated reports whether the verdict is due to a generated rule of the default
// tier.
func (p Part) Generated() bool { return p.Source == builtIn }

package policy

// Verdict is what policy says about a call.
type Verdict string

// The verdicts (AR-25).
const (
	Allow   Verdict = "allow"    // run without asking
	Deny    Verdict = "deny"     // do not run
	AskUser Verdict = "ask_user" // run if a person approves
)

// strictness orders verdicts: allow < ask_user < deny. What is no verdict is
// as strict as deny.
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

// Decision is a verdict with its explanation. Reason is never empty; Rule,
// Tier, Source and Line say where the verdict comes from and are zero where
// there is nothing to name.
type Decision struct {
	Decision Verdict `json:"decision"`
	Rule     string  `json:"rule"`               // the rule as its author named it, or in short form
	Tier     string  `json:"tier"`               // default, extension, workspace, session, user or admin
	Source   string  `json:"source"`             // file, flag or table that holds it
	Line     int     `json:"line"`               // 1-based, in Source; 0: not in a file
	Reason   string  `json:"reason"`             // for a person: what in the call matched, or why nothing did
	Remedy   string  `json:"remedy,omitempty"`   // what would change the verdict
	Message  string  `json:"message,omitempty"`  // the denying rule's denyMessage, for the model
	Confined string  `json:"confined,omitempty"` // what confines the call's command, as "landlock"
	Parts    []Part  `json:"parts"`              // of a command line, in order; empty for other calls

	// Checkers are due before the call runs, in this order; the scheduler runs
	// them on the call, or on what [Checker].About says, and they only tighten.
	Checkers []Checker `json:"-"`
	// Protected marks a change of a file that decides what runs later: the mode
	// autoEdit does not cover it.
	Protected bool `json:"-"`
	// Unnamed marks a call of an MCP tool that no rule allows by the tool's name
	// alone, as that reads as the name of another server's.
	Unnamed bool `json:"-"`
	// Previews marks a call that plan mode shows instead of running; its
	// verdict is ask_user.
	Previews bool `json:"preview,omitempty"`
}

// Generated reports whether the verdict is due to a rule of the default tier
// that nobody wrote.
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

// Generated reports whether the verdict is due to a rule of the default tier
// that nobody wrote.
func (p Part) Generated() bool { return p.Source == builtIn }

package policy

import "github.com/fettle-dev/fettle/core/confirmation"

// The types of a [Decision], which are those of questions on the bus.
type (
	Verdict     = confirmation.Verdict     // the policy's verdict about a call
	Explanation = confirmation.Explanation // a verdict with its reason and origin
	Part        = confirmation.Part        // the decision on one part of a command line
	Run         = confirmation.Run         // how a command runs in a session that can confine single commands
)

// The verdicts.
const (
	Allow   = confirmation.Allow   // run without approval
	Deny    = confirmation.Deny    // do not run
	AskUser = confirmation.AskUser // run if an approver approves
)

// The ways to run. The zero value leaves it to the session.
const (
	RunConfined   = confirmation.RunConfined   // may write in the workspace and its temporary directory
	RunRead       = confirmation.RunRead       // may write in its temporary directory only
	RunUnconfined = confirmation.RunUnconfined // without confinement
)

// BuiltIn is the source of the generated rules of the default tier, in a
// [Decision] and its parts.
const BuiltIn = "built-in"

// strictness orders verdicts: allow < ask_user < deny. An invalid verdict is as
// strict as deny.
func strictness(v Verdict) int {
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
	if strictness(b) > strictness(a) {
		return b
	}
	return a
}

// Decision is the policy's decision about a call: a verdict with its explanation,
// whose Reason is never empty, and data for the scheduler.
type Decision struct {
	Explanation

	// Checkers must run before the call, in this order; the scheduler runs them
	// on the call, or on [Checker].About, and they can only tighten.
	Checkers []Checker `json:"-"`
	// Protected marks a change of a file that determines what runs later: the
	// modes autoEdit and auto do not cover it.
	Protected bool `json:"-"`
	// Unnamed marks a call of an MCP tool that no rule can allow by the tool's
	// name alone, because the name may be that of another server's tool.
	Unnamed bool `json:"-"`
	// Leaves marks a call that requests to run its command unconfined: only a rule
	// with Run unconfined allows it.
	Leaves bool `json:"-"`
}

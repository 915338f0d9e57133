package policy

import "github.com/fettle-dev/fettle/core/confirmation"

// Verdict is the policy's verdict about a call.
type Verdict = confirmation.Verdict

// The verdicts.
const (
	Allow   = confirmation.Allow   // run without approval
	Deny    = confirmation.Deny    // do not run
	AskUser = confirmation.AskUser // run if an approver approves
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
	confirmation.Explanation

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

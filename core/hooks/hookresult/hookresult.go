// Package hookresult describes the results of hooks for the programs that list, try and approve
// them: the outcome of each hook, their combined effect, and the state of each hook.
package hookresult

import (
	"time"

	"github.com/fettle-dev/fettle/core/hooks"
)

// Ran is the outcome of one hook.
type Ran struct {
	Hook     *hooks.Hook
	Exit     int    // of a command; -1: ended by a signal, or not started
	Signal   string // that ended it; "" if none
	TimedOut bool
	Duration time.Duration
	Stdout   string // of a command, truncated
	Stderr   string
	Output   hooks.Output // as far as it applies
	Warnings []string     // sentences
}

// Message is a message of a hook for the user.
type Message struct {
	Hook *hooks.Hook
	Text string
	// Quiet: it is not shown, at the request of the hook; its text for the system prompt
	// is still used.
	Quiet bool
}

// Effect is the combined output of the hooks of an event. Its zero value has no effect.
type Effect struct {
	Ran []Ran // in the order of the hooks

	Stop       bool // a hook stops the current operation
	StopReason string
	Decision   hooks.Decision // the strictest: Block, Ask, Allow, or "" without a decision
	Reason     string         // of the hooks with that decision, a line each; never empty with Block and Ask
	By         string         // their names

	Messages []Message

	// Specific is the combined event-specific output: additional context, a line each;
	// objects with the parts of all hooks; nil ToolInput leaves the arguments unchanged.
	hooks.Specific
	Rewriters string // the names of the hooks that set ToolInput
}

// Fingerprint is the current state of a project's hook.
type Fingerprint struct {
	Sum   string   // SHA-256 of its definition and of Files, in hexadecimal
	Files []string // covered files of the project: relative, with slashes, sorted
	// Open: the command may run other files of the project too, whose names bash
	// computes at run time or a program looks up itself.
	Open bool
}

// State is the state of a hook.
type State string

// The states.
const (
	Active    State = "active"
	Unmatched State = "unmatched" // its matcher matches no known tool or trigger, so that it never runs
	Disabled  State = "disabled"  // by hooksConfig.disabled
	Untrusted State = "untrusted" // the project's directory is not trusted, or commands are confined
	Changed   State = "changed"   // new or changed since the project's hooks were approved
)

// Listing is a hook and its state.
type Listing struct {
	*hooks.Hook
	Shown string // its command, with secrets from settings masked
	State State
	Note  string // why it does not run; "": it runs, or State is the reason
	// Approved is the content that an approval of a project's hook covers. nil:
	// the hook is not a project's, or cannot be approved.
	Approved *Fingerprint
}

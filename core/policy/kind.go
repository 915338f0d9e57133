// Package policy decides whether a tool call may run, must be approved by a
// person, or must not run, and says why.
package policy

import (
	"fmt"
	"slices"
	"strings"
)

// KindTable decides by kind and approval mode. The zero value allows nothing
// beyond these. It is safe for concurrent use.
type KindTable struct {
	Allowed []string // what may run without asking: "name" or "name(prefix)" (CR-26)
}

// byKind says what happens to a call of a kind that no rule speaks of
// (AR-25), and whether tools of the kind change something (AR-16). An unknown
// kind is asked about.
func byKind(kind string) (v Verdict, mutates bool) {
	switch kind {
	case "read", "search", "think", "communicate":
		return Allow, false
	case "edit", "delete", "move", "execute":
		return AskUser, true
	}
	return AskUser, false // fetch and other too
}

// Decide decides by the tool's kind, the approval mode and the allowed
// entries alone (AR-25, AR-27, CR-26). In this order: a change in plan mode is
// never allowed, not even by an entry; an allowed entry allows; yolo allows
// all and autoEdit the kind edit; then the kind decides.
//
// In plan mode the verdict on a change is ask_user, so that nobody who
// forgets about modes runs it; the scheduler answers with a preview instead
// of asking (CR-22).
//
// An entry with a prefix allows nothing: only an engine that understands
// command lines can tell what a prefix covers.
func (k KindTable) Decide(c Call) Decision {
	verdict, mutates := byKind(c.Kind)
	mutates = mutates || c.Mutates
	if c.Mode == ModePlan && mutates {
		return Decision{Decision: AskUser, Tier: "mode", Source: "approval mode plan",
			Reason: "In plan mode a change is shown and not made."}
	}
	if entry, ok := k.allowing(c); ok {
		return Decision{Decision: Allow, Rule: entry, Tier: "user", Source: "allowed tools",
			Reason: fmt.Sprintf("The tool %s is on the list of allowed tools.", c.Tool)}
	}
	if c.Mode == ModeYolo {
		return Decision{Decision: Allow, Tier: "mode", Source: "approval mode yolo",
			Reason: "In yolo mode nothing is asked about."}
	}
	if c.Mode == ModeAutoEdit && c.Kind == "edit" {
		return Decision{Decision: Allow, Tier: "mode", Source: "approval mode autoEdit",
			Reason: "In autoEdit mode edits are made without asking."}
	}
	d := Decision{Decision: verdict, Rule: "kind " + c.Kind, Tier: "default", Source: "kind table"}
	switch {
	case mutates:
		d.Decision = AskUser
		d.Reason = "It makes changes, and a person approves these."
	case verdict == Allow:
		d.Reason = fmt.Sprintf("Tools of kind %s run without asking.", c.Kind)
	default:
		d.Reason = fmt.Sprintf("Tools of kind %s are asked about.", c.Kind)
	}
	return d
}

// allowing returns the entry that allows the call.
func (k KindTable) allowing(c Call) (string, bool) {
	for _, entry := range k.Allowed {
		name := strings.TrimSuffix(strings.TrimSpace(entry), "()")
		if name == "" || strings.ContainsAny(name, "()") {
			continue
		}
		if name == c.Tool || slices.Contains(c.Aliases, name) {
			return entry, true
		}
	}
	return "", false
}

package policy

import "sync"

// generated identifies the rules of the default tier.
type generated int

const (
	written     generated = iota // not generated
	ownYolo                      // yolo allows everything
	ownLooks                     // kinds that change nothing
	ownBuiltins                  // builtin commands of the shell
	ownReadOnly                  // the read-only table
	ownEdits                     // autoEdit allows edits
	ownConfined                  // auto allows confined commands
	ownAsks                      // everything else
)

// defaults returns the rules of the default tier. They rank below all written
// rules, except for those of the default tier. They are compiled once for all
// engines, which copy them.
func defaults(readOnly bool) []*rule {
	if readOnly {
		return defaultsWithTable()
	}
	return defaultsAlone()
}

var (
	defaultsAlone     = sync.OnceValue(func() []*rule { return newDefaults(false) })
	defaultsWithTable = sync.OnceValue(func() []*rule { return newDefaults(true) })
)

func newDefaults(readOnly bool) []*rule {
	all := []string{"*"}
	shell := []string{shellTool}
	rules := []*rule{
		own(ownYolo, nil, Rule{Name: "yolo", Tools: all, Decision: Allow, Priority: 998,
			Modes: []ApprovalMode{ModeYolo}, AllowRedirection: true}),
		own(ownLooks, looks, Rule{Name: "kinds that change nothing", Tools: all, Decision: Allow, Priority: 50}),
		own(ownBuiltins, nil, Rule{Name: "commands of the shell's own", Tools: shell, Decision: Allow, Priority: 50}),
	}
	if readOnly {
		rules = append(rules, own(ownReadOnly, nil, Rule{Name: "read-only commands", Tools: shell, Decision: Allow, Priority: 40}))
	}
	return append(rules,
		own(ownEdits, []string{"edit"}, Rule{Name: "autoEdit", Tools: all, Decision: Allow, Priority: 15,
			Modes: []ApprovalMode{ModeAutoEdit}}),
		own(ownConfined, nil, Rule{Name: "auto", Tools: []string{shellTool, backgroundInput}, Decision: Allow, Priority: 12,
			Modes: []ApprovalMode{ModeAuto}, AllowRedirection: true}),
		own(ownAsks, nil, Rule{Name: "kinds that are asked about", Tools: all, Decision: AskUser, Priority: 10}))
}

// looks are the kinds that change nothing and do not affect the machine.
var looks = []string{"read", "search", "think", "communicate"}

// own compiles a generated rule. It has no pattern, so that it cannot be invalid.
func own(which generated, kinds []string, r Rule) *rule {
	r.Tier, r.Source = TierDefault, BuiltIn
	c := newRule(r)
	c.own, c.kinds = which, kinds
	c.describe()
	return c
}

// kindOf returns the kind that rules about kinds see: a call that changes
// something never has a kind that does not, whatever it declares.
func kindOf(c *Call) string {
	for _, k := range looks {
		if c.Kind == k && mutates(c) {
			return "other"
		}
	}
	return c.Kind
}

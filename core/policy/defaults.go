package policy

import "sync"

// generated tells the rules of the default tier apart.
type generated int

const (
	written     generated = iota // by somebody else
	ownYolo                      // yolo allows everything
	ownLooks                     // kinds that change nothing
	ownBuiltins                  // commands of the shell's own
	ownEdits                     // autoEdit allows edits
	ownAsks                      // everything else
)

// builtIn is the source of generated rules.
const builtIn = "built-in"

// defaults are the rules of the default tier (AR-25, AR-27). They stand below
// all that anybody writes, except for rules of the default tier. They are made
// once and the same for all engines, which copy them.
var defaults = sync.OnceValue(func() []*rule {
	all := []string{"*"}
	return []*rule{
		own(ownYolo, nil, Rule{Name: "yolo", Tools: all, Decision: Allow, Priority: 998,
			Modes: []ApprovalMode{ModeYolo}, AllowRedirection: true}),
		own(ownLooks, looks, Rule{Name: "kinds that change nothing", Tools: all, Decision: Allow, Priority: 50}),
		own(ownBuiltins, nil, Rule{Name: "commands of the shell's own", Tools: []string{shellTool}, Decision: Allow, Priority: 50}),
		own(ownEdits, []string{"edit"}, Rule{Name: "autoEdit", Tools: all, Decision: Allow, Priority: 15,
			Modes: []ApprovalMode{ModeAutoEdit}}),
		own(ownAsks, nil, Rule{Name: "kinds that are asked about", Tools: all, Decision: AskUser, Priority: 10}),
	}
})

// looks are the kinds that change nothing and leave the machine alone.
var looks = []string{"read", "search", "think", "communicate"}

// own makes a generated rule ready. It has no pattern, so nothing in it can
// be wrong.
func own(which generated, kinds []string, r Rule) *rule {
	r.Tier, r.Source = TierDefault, builtIn
	c := newRule(r)
	c.own, c.kinds = which, kinds
	c.describe()
	return c
}

// kindOf is the kind that rules about kinds see: a call that changes
// something has none of those that do not, whatever it says.
func kindOf(c *Call) string {
	for _, k := range looks {
		if c.Kind == k && mutates(c) {
			return "other"
		}
	}
	return c.Kind
}

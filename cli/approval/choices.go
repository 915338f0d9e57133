package approval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
)

// Choice is an answer to offer, with what it stores.
type Choice struct {
	bus.OutcomeInfo
	// Scope is how long the rules of the answer apply and where they are stored. For
	// an answer that stores none it describes the answer. It is safe for the terminal.
	Scope string
	// Rules describe the rules that the answer adds, one per line, each safe for the
	// terminal; nil: the answer stores nothing.
	Rules []string
}

// Choices returns the answers to offer for a request, with no last. savedIn is the file
// of saved approvals, as displayed; "": unknown.
func Choices(q bus.ToolConfirmationRequest, savedIn string) []Choice {
	replies := Replies(q.Outcomes)
	choices := make([]Choice, len(replies))
	for i, r := range replies {
		choices[i] = Choice{OutcomeInfo: r, Scope: scope(q, r, savedIn)}
		if r.Until != "" {
			choices[i].Rules = rulesOf(q, r.Outcome)
		}
	}
	return choices
}

// scope describes an answer in a few words.
func scope(q bus.ToolConfirmationRequest, r bus.OutcomeInfo, savedIn string) string {
	switch {
	case r.Kept && savedIn != "":
		return "saved in " + display.Line(savedIn)
	case r.Until != "":
		return r.Until
	case r.Outcome == bus.ModifyWithEditor:
		return "opens your editor, then asks again"
	case r.Outcome == bus.Cancel && q.ToolCall.Name == exitPlanMode:
		return "the plan is not carried out; say what to change"
	case r.Outcome == bus.Cancel:
		return "it does not run; you can say what to do instead"
	}
	return "nothing is stored"
}

// Stores returns what the answer stores, in one line. listed means that several rules
// are listed elsewhere, so that their number suffices.
func (c Choice) Stores(listed bool) string {
	switch {
	case len(c.Rules) == 0:
		return c.Scope
	case len(c.Rules) == 1 && !listed:
		return c.Scope + ": " + c.Rules[0]
	case len(c.Rules) == 1:
		return c.Scope + ": the rule above"
	}
	return fmt.Sprintf("%s: the %d rules above", c.Scope, len(c.Rules))
}

// Group is a list of adjacent choices that add the same rules.
type Group struct {
	Choices []Choice
	Rules   []string
}

// Groups returns the choices that add rules, grouped by the rules.
func Groups(choices []Choice) []Group {
	var all []Group
	for _, c := range choices {
		if c.Rules == nil {
			continue
		}
		if n := len(all) - 1; n >= 0 && slices.Equal(all[n].Rules, c.Rules) {
			all[n].Choices = append(all[n].Choices, c)
			continue
		}
		all = append(all, Group{Choices: []Choice{c}, Rules: c.Rules})
	}
	return all
}

// Heading names the choices of a group, each with its scope.
func (g Group) Heading() string {
	heads := make([]string, len(g.Choices))
	for i, c := range g.Choices {
		heads[i] = fmt.Sprintf("[%s] %s", c.Key, c.Scope)
	}
	return strings.Join(heads, ", ")
}

package calls

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/tools"
)

// Fact is one property of a tool's Spec.
type Fact struct{ Name, Text string }

// FactsOf lists the properties of a tool for the user, besides its description and
// parameters.
func FactsOf(s tools.Spec) []Fact {
	facts := []Fact{{"display name", s.Display()}}
	add := func(name string, values []string, after string) {
		if len(values) > 0 {
			facts = append(facts, Fact{name, strings.Join(values, ", ") + after})
		}
	}
	add("also called", s.Aliases, "")
	facts = append(facts, Fact{"kind", string(s.Kind)}, Fact{"without a rule", unruled(s)})
	facts = append(facts, ExistenceOf(s.Name)...)
	effects := make([]string, len(s.Effects))
	for i, e := range s.Effects {
		effects[i] = string(e)
	}
	add("effects", effects, "")
	add("governed by", s.GovernedBy, ": rules that deny or ask for that tool apply to this tool too")
	facts = append(facts, Fact{"concurrency", sideBySide(s)})
	if s.StreamsOutput {
		facts = append(facts, Fact{"live output", "shown while the call runs"})
	}
	if s.OutputIsMarkdown {
		facts = append(facts, Fact{"display", "Markdown"})
	}
	return facts
}

// ExistenceOf describes when a conditional tool is registered and declared to the
// model.
func ExistenceOf(name string) (facts []Fact) {
	if when := tools.RegisteredWhen(name); when != "" {
		facts = append(facts, Fact{"registered", when})
	}
	if when := tools.DeclaredWhen(name); when != "" {
		facts = append(facts, Fact{"declared", when})
	}
	return facts
}

// unruled describes the default decision, without a matching rule.
func unruled(s tools.Spec) string {
	free := []tools.Kind{tools.KindRead, tools.KindSearch, tools.KindThink, tools.KindCommunicate}
	switch {
	case s.Mutates():
		return "needs approval; not run in plan mode"
	case slices.Contains(free, s.Kind):
		return "allowed"
	}
	return "needs approval"
}

func sideBySide(s tools.Spec) string {
	if s.Parallel {
		return "concurrent calls allowed"
	}
	return "one call at a time"
}

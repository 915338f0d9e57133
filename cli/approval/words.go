package approval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
)

// builtIn is the source of the rules that are there without any.
const builtIn = "built-in"

// exitPlanMode is the tool whose refusal says little without words.
const exitPlanMode = "exit_plan_mode"

// Parts lists everything that a command line runs or writes.
func Parts(q bus.ToolConfirmationRequest) []bus.Part {
	if c := q.Details.ExecDetails; c != nil && len(c.Parts) > 0 {
		return c.Parts
	}
	return q.Decision.Parts
}

// WhyPart explains the verdict on a part, in few words where it is always so: a
// line that is safe to show.
func WhyPart(part bus.Part) string {
	if part.Source == builtIn {
		return display.Line(strings.ReplaceAll(part.Reason, escape.Quote(part.Text), "it"))
	}
	return explain(part.Reason, part.Rule, part.Tier, part.Source, part.Line)
}

// Verdict is the word for a decision on a part.
func Verdict(decision string) string {
	switch decision {
	case "allow":
		return "allowed"
	case "deny":
		return "denied"
	}
	return "asks"
}

// Why says in a line that is safe to show why the call is asked about.
func Why(q bus.ToolConfirmationRequest) string {
	d := q.Decision
	why := cmp.Or(explain(d.Reason, d.Rule, d.Tier, d.Source, d.Line), "no rule speaks of it")
	var same []bus.Part // the parts that have been explained above
	for _, part := range Parts(q) {
		if part.Source == d.Source && part.Decision == d.Decision {
			same = append(same, part)
		}
	}
	switch {
	case d.Source != builtIn:
	case len(same) == 1 && same[0].Reason != "":
		why = WhyPart(same[0])
	case len(same) > 1:
		why = fmt.Sprintf("%d of its %d parts ask.", len(same), len(Parts(q)))
	}
	return why
}

// explain joins a reason and where it comes from.
func explain(reason, rule, tier, source string, line int) string {
	var origin []string
	if rule != "" {
		origin = append(origin, "rule "+rule)
	}
	if tier != "" {
		origin = append(origin, tier+" tier")
	}
	place := source
	if line > 0 {
		place = fmt.Sprintf("%s:%d", source, line)
	}
	if source != "" {
		origin = append(origin, place)
	}
	text := reason
	if named := source != "" && strings.Contains(reason, place); len(origin) > 0 && !named {
		text += " (" + strings.Join(origin, ", ") + ")"
	}
	return display.Line(text)
}

// Lasting is what one or more answers let run from then on.
type Lasting struct {
	Replies []bus.OutcomeInfo
	// Lines are the rules that these answers put in force, in words, one each; of an
	// answer that puts none in force what is to be said of it. Each is a line that
	// is safe to show.
	Lines []string
}

// Lasts lists what the answers say that last, or that take words: neighbours that
// put the same rules in force together.
func Lasts(q bus.ToolConfirmationRequest, replies []bus.OutcomeInfo) []Lasting {
	var all []Lasting
	for _, r := range replies {
		var lines []string
		switch {
		case r.Outcome == bus.Cancel && q.ToolCall.Name == exitPlanMode:
			lines = []string{"with what to change, if you like"}
		case r.Until != "":
			lines = rulesOf(q, r.Outcome)
		}
		if lines == nil {
			continue
		}
		if n := len(all) - 1; n >= 0 && slices.Equal(all[n].Lines, lines) {
			all[n].Replies = append(all[n].Replies, r)
			continue
		}
		all = append(all, Lasting{Replies: []bus.OutcomeInfo{r}, Lines: lines})
	}
	return all
}

// rulesOf lists the rules that an outcome puts in force, in words.
func rulesOf(q bus.ToolConfirmationRequest, o bus.Outcome) []string {
	rules := q.Stores(o)
	if len(rules) == 0 {
		return []string{"what the question does not say"}
	}
	lines := make([]string, len(rules))
	for i, words := range rules {
		lines[i] = display.Line(words)
	}
	return lines
}

// Remembered says in a line that is safe to show what has been remembered.
func Remembered(u bus.UpdatePolicy) string {
	return display.Line(cmp.Or(u.Words, "calls of "+u.ToolName)) + "; " + u.Lasting() + "."
}

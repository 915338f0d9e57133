package approval

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/escape"
)

// builtIn is the source of the built-in rules.
const builtIn = "built-in"

// leaving is the rule of a call that requests to run its command unconfined.
const leaving = "unconfined commands"

// exitPlanMode is the tool whose denial should carry a reason.
const exitPlanMode = "exit_plan_mode"

// Parts lists the commands and the output files of a command line.
func Parts(q bus.ToolConfirmationRequest) []confirmation.Part {
	if c := q.Details.ExecDetails; c != nil && len(c.Parts) > 0 {
		return c.Parts
	}
	return q.Decision.Parts
}

// WhyPart explains the decision on a part in one line that is safe for the terminal;
// frequent explanations are short.
func WhyPart(part confirmation.Part) string {
	if part.Source == builtIn {
		return display.Line(strings.ReplaceAll(part.Reason, escape.Quote(part.Text), "it"))
	}
	return explain(part.Reason, part.Rule, part.Tier, part.Source, part.Line)
}

// Verdict returns the word for the decision on a part.
func Verdict(decision string) string {
	switch decision {
	case "allow":
		return "allowed"
	case "deny":
		return "denied"
	}
	return "asks"
}

// Why explains in one line that is safe for the terminal why the call needs approval.
func Why(q bus.ToolConfirmationRequest) string {
	d := q.Decision
	why := cmp.Or(explain(d.Reason, d.Rule, d.Tier, d.Source, d.Line), "no rule matches")
	var same []confirmation.Part // the parts explained above
	for _, part := range Parts(q) {
		if part.Source == d.Source && part.Decision == d.Decision {
			same = append(same, part)
		}
	}
	switch {
	case d.Source != builtIn, d.Rule == leaving:
	case len(same) == 1 && same[0].Reason != "":
		why = WhyPart(same[0])
	case len(same) > 1:
		why = fmt.Sprintf("%d of its %d parts need approval.", len(same), len(Parts(q)))
	}
	return why
}

// Confinement describes how a command would run, in one line that is safe for the
// terminal; "" if commands are not confined.
func Confinement(q bus.ToolConfirmationRequest) string {
	switch d := q.Decision; {
	case d.Run == "unconfined":
		return "runs outside the sandbox"
	case d.Confined == "":
		return ""
	case d.Run == "confined_read":
		return display.Line("runs in the sandbox (" + d.Confined + "), which may not change the workspace")
	default:
		return display.Line("runs in the sandbox (" + d.Confined + ")")
	}
}

// explain joins a reason and its origin.
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

// rulesOf describes the rules that an outcome adds.
func rulesOf(q bus.ToolConfirmationRequest, o bus.Outcome) []string {
	rules := q.Stores(o)
	if len(rules) == 0 {
		return []string{"unknown rules"}
	}
	lines := make([]string, len(rules))
	for i, words := range rules {
		lines[i] = display.Line(words)
	}
	return lines
}

// Remembered describes a stored approval in one line that is safe for the terminal.
func Remembered(u bus.UpdatePolicy) string {
	return display.Line(cmp.Or(u.Words, "calls of "+u.ToolName)) + "; " + u.Lasting() + "."
}

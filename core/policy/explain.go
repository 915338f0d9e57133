package policy

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/confirmation"
)

// explain converts an outcome into a decision.
func (t *trial) explain(out outcome) Decision {
	r := out.decisive()
	d := decided(r, out.verdict())
	switch {
	case r == out.maybe && !r.besides():
		d.Reason = fmt.Sprintf("It is unknown whether the rule %s covers it.", r.id)
		d.Remedy = r.remedy()
	case r.own == ownAsks:
		var row *ProtectedPath
		if t.call.Kind == "edit" {
			row = t.protected()
		}
		d.Protected = row != nil
		if modesOf(t.call.Mode)&modeBit(ModeAutoEdit) != 0 && d.Protected {
			d.Reason = laterReason("It changes", row) + " The mode " + t.call.Mode.String() + " does not cover these."
		} else if mutates(t.call) {
			d.Reason = "It makes changes, which need approval."
		} else {
			d.Reason = "Tools of kind " + kindName(t.call) + " need approval."
		}
		d.Remedy = t.wouldAllow()
	case r.own == ownLooks:
		d.Reason = "Tools of kind " + t.call.Kind + " run without approval."
	case r.own == ownYolo:
		d.Reason = "In yolo mode, calls without a matching rule run without approval."
	case r.own == ownConfined:
		d.Reason = inputReason
	case r.own == ownEdits:
		d.Reason = "In " + t.call.Mode.String() + " mode edits are made without asking."
	default:
		d.Reason = r.reason
		d.Remedy = r.remedy()
	}
	return d
}

// openReason explains why a rule about confined commands does not cover a
// command.
func openReason(r *rule) string {
	return "The rule " + r.id + " does not cover it: the confined command could still write protected paths."
}

func kindName(c *Call) string {
	if c.Kind == "" {
		return "other"
	}
	return c.Kind
}

// decided sets the origin of a verdict.
func decided(r *rule, v Verdict) Decision {
	d := Decision{Explanation: confirmation.Explanation{Decision: v, Rule: r.title, Tier: r.tierName(), Source: r.Source, Line: r.Line}}
	if v == Deny {
		d.Message = r.DenyMessage
	}
	return d
}

// wouldAllow returns a remedy for a call that no rule covers.
func (t *trial) wouldAllow() string {
	rule, mode := "A rule that allows "+t.call.Tool, ModeYolo
	if t.call.Mode == ModePlan {
		rule += " and has modes = [\"plan\"]"
	}
	if t.call.Kind == "edit" && t.protected() == nil {
		mode = ModeAutoEdit
	} else if t.call.Untrusted {
		return rule + " would allow it."
	}
	return rule + ", or approval mode " + mode.Flag() + ", would allow it."
}

// orYolo appends the suggestion of another mode to a remedy, in directories that
// do not refuse it.
func (t *trial) orYolo() string {
	if t.call.Untrusted {
		return "."
	}
	return ", or approval mode yolo would allow it."
}

// remedy describes what would change a verdict that is due to the rule; "" if it
// allows, or if only an administrator could change it.
func (r *rule) remedy() string {
	switch {
	case r.Decision == Allow || r.Tier == TierAdmin && !r.Session:
		return ""
	case r.own != written:
		return ""
	}
	return "Only a change of that rule" + where(" in ", r) + " lets it run without approval."
}

// where returns the rule's source after a word, and "" without one.
func where(word string, r *rule) string {
	if r.Source == "" {
		return ""
	}
	return word + place(r.Source, r.Line)
}

// describe computes the rule's texts for explanations.
func (r *rule) describe() {
	r.id = fmt.Sprintf("%q (%s%s)", r.title, r.tierName(), where(", ", r))
	r.reason = sentence(r)
	what := "the whole tool"
	switch {
	case r.OtherCommands:
		what = "commands that begin with none of its prefixes"
	case len(r.prefixes) > 0:
		what = "commands that begin with one of its prefixes"
	case r.command != nil:
		what = fmt.Sprintf("commands that match %.100q", r.CommandRegex)
	case r.args != nil:
		what = fmt.Sprintf("arguments that match %.100q", r.ArgsPattern)
	}
	r.effect = effectOn(r, what)
}

// verbs contains a verb for each verdict.
var verbs = map[Verdict]string{Allow: "allows", Deny: "denies", AskUser: "asks about"}

// says returns a sentence about the effect of the rule.
func effectOn(r *rule, what string) string {
	if r.Confined != nil {
		what += either(*r.Confined, " if confined", " if not confined")
	}
	if r.Run != "" {
		what += either(r.Run == confirmation.RunConfined, " in the sandbox", " outside the sandbox")
	}
	return "The rule " + r.id + " " + verbs[r.Decision] + " " + what + "."
}

// sentence describes the effect of the rule, for decisions that are due to it.
func sentence(r *rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The rule %s %s %s", r.id, verbs[r.Decision], strings.Join(r.Tools, ", "))
	if r.Server == "*" {
		b.WriteString(" of any MCP server")
	} else if r.Server != "" {
		b.WriteString(" of the MCP server " + r.Server)
	}
	var with []string
	if r.args != nil {
		with = append(with, fmt.Sprintf("arguments that match %.100q", r.ArgsPattern))
	}
	if len(r.Annotations) > 0 {
		with = append(with, "unverified declarations of its server")
	}
	if len(r.Effects) > 0 {
		with = append(with, "the effects "+strings.Join(r.Effects, ", "))
	}
	if len(with) > 0 {
		b.WriteString(" with " + strings.Join(with, " and "))
	}
	if r.Subagent != "" {
		b.WriteString(" for the subagent " + r.Subagent)
	}
	if len(r.Modes) > 0 {
		b.WriteString(" in mode " + modeNames(r.Modes))
	}
	for _, condition := range r.given {
		if !condition.apart {
			b.WriteString(condition.short(&r.Rule))
		}
	}
	b.WriteByte('.')
	return b.String()
}

package policy

import (
	"slices"
	"strings"
)

// match is a rule that matches, or may match, a call or a part of one.
type match struct {
	rule   *rule
	sure   tri
	words  int    // leading words of a command that the rule names
	effect string // of a command line: the rule's effect, as a sentence
}

// walk finds the deciding rule, from the highest rule to the lowest. The first
// rule that certainly matches decides, unless it is an approval: written rules
// below it still count. A rule that denies applies, and so does one that asks
// about less than was approved. An approval answers all other rules that ask, but
// does not override a lower rule that denies.
type walk struct {
	outcome
	covers    int
	approvals []match // that certainly match, the highest first
	asks      match   // the highest rule that asks and is answered
}

// approves reports whether the rule records an approval.
func (r *rule) approves() bool { return r.Approval && !r.tightens }

// meet adds the next matching rule. It reports whether the walk is complete.
func (w *walk) meet(m match) bool {
	surely := m.sure == yes && !m.rule.besides()
	switch {
	case m.sure == no:
	case m.rule.approves():
		if m.sure == yes {
			w.approvals = append(w.approvals, m)
		}
	case len(w.approvals) == 0:
		if surely {
			return w.end(m)
		}
		w.doubt(m)
	case !m.rule.tightens || m.rule.own != written:
		if m.sure == yes {
			return w.end(w.approved())
		}
	case m.rule.Decision == Deny && w.asks.rule != nil:
		return w.end(w.asks)
	case m.rule.Decision == Deny && surely:
		return w.end(m)
	case m.rule.Decision == Deny:
		w.doubt(m)
	case slices.ContainsFunc(w.approvals, func(given match) bool { return !m.narrower(given) }):
		if surely && w.asks.rule == nil {
			w.asks = m
		}
	case surely:
		return w.end(m)
	default:
		w.doubt(m)
	}
	return false
}

// end makes a match the deciding one.
func (w *walk) end(m match) bool {
	w.rule, w.covers, w.effect = m.rule, m.words, m.effect
	return true
}

// doubt records the highest rule that may decide.
func (w *walk) doubt(m match) {
	if w.maybe == nil {
		w.maybe = m.rule
	}
}

// approved returns the approval that names the most words of a command.
func (w *walk) approved() match {
	best := w.approvals[0]
	for _, a := range w.approvals[1:] {
		if a.words > best.words {
			best = a
		}
	}
	return best
}

// narrower reports whether a rule that asks covers less than an approval, so that
// the approval cannot have been meant for it.
func (m match) narrower(given match) bool {
	switch {
	case m.rule.Subagent != "" && given.rule.Subagent == "":
		return true
	case given.rule.wildcard() && !m.rule.wildcard():
		return true
	case given.rule.args != nil:
		return false
	case m.rule.args != nil || m.rule.command != nil:
		return true
	}
	return m.words > given.words
}

// wildcard reports whether the rule applies to tools that it does not name.
func (r *rule) wildcard() bool {
	return slices.ContainsFunc(r.Tools, func(tool string) bool { return strings.Contains(tool, "*") })
}

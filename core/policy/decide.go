package policy

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/confirmation"
)

// trial is a decision in progress.
type trial struct {
	*snapshot
	call *Call
	args *arguments
}

func newTrial(s *snapshot, c *Call) *trial {
	return &trial{snapshot: s, call: c, args: &arguments{call: c}}
}

// outcome is the result of the rules: the deciding one, and the highest one above
// it that asks without deciding: because it only tightens, or its match is
// uncertain.
type outcome struct {
	rule   *rule
	maybe  *rule
	effect string // of a command line: the rule's effect, as a sentence
}

// verdict returns the verdict of the outcome: a call that may be denied or
// require approval is not allowed.
func (o outcome) verdict() Verdict {
	if o.rule.Decision == Allow && o.maybe != nil {
		return AskUser
	}
	return o.rule.Decision
}

// decisive returns the rule that causes the verdict.
func (o outcome) decisive() *rule {
	if o.rule.Decision == Allow && o.maybe != nil {
		return o.maybe
	}
	return o.rule
}

func (s *snapshot) decide(c *Call) Decision {
	if c.Confinable != "" && c.Confined == "" && isShell(c) {
		return s.decidePlaced(c)
	}
	if c.Confined == Namespaces && c.Sealed && isShell(c) { // every command of the session is confined by mounts
		inside := *c
		inside.placed, inside.Confinable = atInside, Namespaces
		c = &inside
	}
	t := newTrial(s, c)
	found := s.find(c, t.args)
	if found.shell != nil {
		d := t.judge(found.shell).decide(found)
		d.Confined = c.Confined
		return d
	}
	d, _ := t.plain(found)
	d.Checkers = t.due(found)
	return t.complete(d, found)
}

// decide returns the decision about the line.
func (j *judge) decide(found *candidates) Decision {
	d := j.decision()
	d.Checkers = due(found, j.call, j.due)
	j.checkWrites(&d)
	return j.complete(d, found)
}

// complete adds to a decision what it has of any call.
func (t *trial) complete(d Decision, found *candidates) Decision {
	c := t.call
	if d.Decision == Deny {
		d.Checkers = nil
	}
	if c.placed == asGiven {
		d.Confined = c.Confined
	}
	if d.Decision == AskUser && c.Headless && !d.Previews {
		d.Reason += " No approver is available."
	}
	if d.Parts == nil {
		d.Parts = []confirmation.Part{}
	}
	d.Unnamed = found.unnamed
	return d
}

// due returns the checkers whose conditions are met, or may be.
func due(found *candidates, c *Call, matches func(*rule) bool) []Checker {
	var all []Checker
	for _, ch := range found.checkers {
		if ch.when.holds(c) && matches(ch.when) {
			all = append(all, ch.Checker)
		}
	}
	return all
}

// due returns the checkers of a call that is not a command line.
func (t *trial) due(found *candidates) []Checker {
	return due(found, t.call, func(r *rule) bool { return t.match(r) != no })
}

// plain decides about a call that is not a command line.
func (t *trial) plain(found *candidates) (Decision, outcome) {
	out := t.walk(found.rules)
	d := t.explain(out)
	if t.call.Confined != "" && out.decisive().own == ownAsks {
		for _, r := range found.rules {
			if r.open(t.call) && t.match(r) == yes {
				d.Reason = openReason(r)
				break
			}
		}
	}
	if t.call.Mode != ModePlan || d.Decision == Deny || !mutates(t.call) {
		return d, out
	}
	switch {
	case d.Decision == Allow: // a rule for plan mode
	case !t.plansFile():
		d = Decision{Explanation: confirmation.Explanation{Decision: AskUser, Rule: "plan mode", Tier: TierDefault.String(), Source: BuiltIn, Previews: true,
			Reason: "In plan mode a change is previewed and not made.",
			Remedy: "It can be made in another approval mode, or by a rule that allows it and has modes = [\"plan\"]."}}
	case out.decisive().own != written:
		d = Decision{Explanation: confirmation.Explanation{Decision: Allow, Rule: "plans directory", Tier: TierDefault.String(), Source: BuiltIn,
			Reason: "Plan mode may write the Markdown files of the plans directory."}}
	}
	return d, out
}

// walk finds the deciding rule. There always is one, because the generated rules
// end with one for every call.
func (t *trial) walk(rules []*rule) outcome {
	var w walk
	for _, r := range rules {
		if r.own == ownBuiltins || r.own == ownReadOnly || !r.holds(t.call) {
			continue
		}
		if w.meet(match{rule: r, sure: t.match(r)}) {
			return w.outcome
		}
	}
	panic("policy: the generated rules are missing")
}

// besides reports whether the rule asks in addition to lower rules.
func (r *rule) besides() bool { return r.TightensOnly && r.Decision == AskUser }

// match matches the argument conditions of a rule. The call is not a command
// line: it is unknown which commands a tool runs that is governed only by the
// shell tool's rules.
func (t *trial) match(r *rule) tri {
	switch {
	case r.own == ownEdits && t.protected() != nil:
		return no
	case r.Confined != nil && *r.Confined && !r.tightens && !r.Approval && !t.call.Sealed && t.protected() != nil: // a rule about files that a command writes
		return no
	case r.args != nil:
		return t.args.match(r.args, r.tightens)
	case r.command != nil || len(r.prefixes) > 0:
		if r.tightens {
			return maybe
		}
		return no
	}
	return yes
}

// plansFile reports whether the call writes a Markdown file directly in the plans
// directory, by its path and by the target of that. The directory must not be a
// link, nor may a link lead to it within the directory that relative paths are
// resolved against: otherwise the project would determine the file that is
// written.
func (t *trial) plansFile() bool {
	path := t.planned()
	if path == "" || t.call.PlanByUntrusted {
		return false
	}
	below, err := filepath.Rel(t.call.base(), t.plansDir)
	if err != nil || !filepath.IsLocal(below) {
		return false
	}
	real := t.call.follow(path)
	return filepath.Dir(real) == filepath.Join(t.call.follow(filepath.Clean(t.call.base())), below) && isMarkdown(real)
}

// planned returns the absolute path that the call writes if it lies directly in
// the plans directory by its text, and "" otherwise.
func (t *trial) planned() string {
	names := append([]string{t.call.Tool}, t.call.Aliases...)
	if t.plansDir == "" || t.call.Server != "" || !slices.ContainsFunc(names, func(name string) bool {
		return slices.Contains([]string{writeFile, safePatch, applyPatch, textEditor, editTool}, name)
	}) {
		return ""
	}
	given := t.args.text("file_path")
	if given == "" || slices.Contains(strings.Split(filepath.ToSlash(given), "/"), "..") {
		return ""
	}
	path := t.call.absolute(given)
	if filepath.Dir(path) != filepath.Clean(t.plansDir) || !isMarkdown(path) {
		return ""
	}
	return path
}

// isMarkdown reports whether a path ends with NAME.md.
func isMarkdown(path string) bool {
	name, ok := strings.CutSuffix(filepath.Base(path), ".md")
	return ok && name != "" && !strings.HasPrefix(name, ".")
}

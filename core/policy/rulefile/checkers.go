package rulefile

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy"
)

const checkerLost = "The checker is left out, and what it may be meant for is asked about; the others hold."

// checker reads one [[safety_checker]].
func (r *reader) checker(t *position.Table) {
	f := r.fields(t, "", checkerLost)
	c := policy.CheckerFor(f.conditions())
	if n, ok := f.integer("priority"); ok {
		if n != int64(int32(n)) {
			f.fail(f.get("priority").Line, "priority", KindSchema, fmt.Sprintf("It is %d, and must be an integer of up to %d.", n, math.MaxInt32), "")
		}
		c.Priority = int(n)
	}
	f.checked(&c)
	f.warnUnknown()
	if slices.ContainsFunc(f.unknown(), func(e *position.Member) bool { return namesServer(e.Key, nearestKey(e.Key, f.known())) }) {
		c.Tools, f.spoil = nil, true
	}
	if !f.spoil {
		f.lastCheck(c.Validate())
	}
	r.acceptChecker(c, f.spoil)
}

// acceptChecker puts a checker in force, or the rule that asks in the place of one
// that has a mistake, as far as the file may.
func (r *reader) acceptChecker(c policy.Checker, spoilt bool) {
	if spoilt {
		r.file.StandIns = append(r.file.StandIns, insteadOf(c))
		return
	}
	if why, remedy := r.mayNot(false, c.Modes); why != "" {
		r.report(c.Line, "", KindIgnored, Warning, "The checker is ignored "+why, remedy)
		return
	}
	r.file.Checkers = append(r.file.Checkers, c)
}

// externalName is what programs that check are called.
var externalName = regexp.MustCompile(`^[a-z0-9-]+$`)

// checked reads the table that says who checks.
func (f *fields) checked(c *policy.Checker) {
	f.need("checker")
	e := f.get("checker")
	if e == nil {
		return
	}
	t, ok := e.Value.(*position.Table)
	if !ok {
		f.wrong(e, e.Line, e.Value, "a table")
		return
	}
	in := f.r.fields(t, f.under+"checker.", f.lost)
	in.program(c)
	in.warnUnknown()
	f.spoil = f.spoil || in.spoil
}

// program reads who checks.
func (in *fields) program(c *policy.Checker) {
	in.need("type", "name")
	switch in.choice([]string{"in-process", "external"}, "type") {
	case "in-process":
		c.Name = in.choice([]string{"allowed-path", "conseca"}, "name")
	case "external":
		c.External = true
		c.Name = in.line("name")
		if c.Name != "" && !externalName.MatchString(c.Name) {
			in.fail(in.get("name").Line, "name", KindSchema, quote(c.Name)+" is not a name of lower-case letters, digits and hyphens.", "")
		}
	default:
		in.text("name")
	}
	c.RequiredContext = in.contexts()
	c.Config = in.settings("config")
}

// checkerKeys are the keys of a rule that hold checkers for what it is about.
var checkerKeys = []string{checkerTable, "safety_checkers", "checker", "checkers"}

// holdsCheckers reports whether a key of a rule, in any spelling, holds checkers.
func holdsCheckers(key string) bool {
	return slices.ContainsFunc(checkerKeys, func(known string) bool { return folded(key) == folded(known) })
}

// nested reads the checkers that a rule brings along: one table or an array of them,
// with the keys of checker or with checker itself, and perhaps a priority of its
// own. They are due for the calls that the rule is about. A mistake in one drops a
// rule that allows.
func (f *fields) nested(rule policy.Rule) {
	lost := "The rule holds, and what the checker may be meant for is asked about."
	if rule.Decision != policy.Deny && rule.Decision != policy.AskUser {
		lost = "The rule is left out, and what the checker may be meant for is asked about; the others hold."
	}
	for _, e := range f.t.Members {
		if !holdsCheckers(e.Key) {
			continue
		}
		f.asked[e.Key] = true
		items, isList := e.Value.([]position.Node)
		if !isList || len(items) == 0 {
			items = []position.Node{e.Node}
		}
		for _, item := range items {
			c := policy.CheckerFor(rule)
			c.Line = item.Line + f.r.skipped
			t, ok := item.Value.(*position.Table)
			if !ok {
				t = &position.Table{Line: item.Line}
			}
			in := f.r.fields(t, clip(e.Key)+".", lost)
			switch {
			case !ok:
				in.fail(item.Line, "", KindSchema, "It is "+describe(item.Value)+", and must be a table.", "")
			case t.Find("checker") != nil:
				in.checked(&c)
			default:
				in.program(&c)
			}
			if n, given := in.integer("priority"); given {
				c.Priority = int(min(n, math.MaxInt32))
			}
			in.warnUnknown()
			if slices.ContainsFunc(f.unknown(), func(e *position.Member) bool { return namesServer(e.Key, nearestKey(e.Key, f.known())) }) {
				c.Tools, in.spoil = nil, true
			}
			if !in.spoil && !f.spoil {
				in.lastCheck(c.Validate())
			}
			f.r.acceptChecker(c, in.spoil || f.spoil)
			f.spoil = f.spoil || in.spoil && rule.Decision != policy.Deny && rule.Decision != policy.AskUser
		}
	}
}

func (f *fields) contexts() []string {
	known := []string{"environment", "history"}
	e := f.get("required_context")
	contexts := f.texts(false, true, "required_context")
	for _, context := range contexts {
		if !slices.Contains(known, context) {
			f.badChoice(e.Line, e.Key, context, known)
		}
	}
	if e != nil && contexts == nil {
		return []string{} // none, which is not all
	}
	return contexts
}

// warnUnknown reports the keys that nobody reads where that cannot loosen.
func (f *fields) warnUnknown() {
	for _, e := range f.unknown() {
		remedy := "Remove it."
		if nearest := nearestKey(e.Key, f.known()); nearest != "" {
			remedy = "Is " + nearest + " meant?"
		}
		f.warn(e.Line, e.Key, KindUnknownKey, fmt.Sprintf("The key %s is unknown. It is not read.", quote(e.Key)), remedy)
	}
}

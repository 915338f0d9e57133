package rulefile

import (
	"fmt"
	"math"
	"slices"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy"
)

const checkerDropped = "The checker is not in force, and its calls need approval; other rules are not affected."

// checkerFor returns a checker without a name for the calls that meet a rule's
// conditions.
func checkerFor(r policy.Rule) policy.Checker {
	return policy.Checker{Rule: policy.Rule{
		Tools: r.Tools, Server: r.Server, ArgsPattern: r.ArgsPattern, CommandPrefix: r.CommandPrefix, CommandRegex: r.CommandRegex,
		Annotations: r.Annotations, Modes: r.Modes, Confined: r.Confined, Priority: r.Priority, Tier: r.Tier, Source: r.Source, Line: r.Line,
	}}
}

// checker reads a [[safety_checker]].
func (r *reader) checker(t *position.Table) {
	f := r.fields(t, "", checkerDropped)
	c := checkerFor(f.conditions())
	if n, ok := f.integer("priority"); ok {
		if n != int64(int32(n)) {
			f.fail(f.get("priority").Line, "priority", KindSchema, fmt.Sprintf("It is %d, and must be an integer of up to %d.", n, math.MaxInt32), "")
		}
		c.Priority = int(n)
	}
	f.checked(&c)
	f.warnUnknown()
	if slices.ContainsFunc(f.unknown(), func(e *position.Member) bool { return namesServer(e.Key, nearestKey(e.Key, f.known())) }) {
		c.Tools, f.invalid = nil, true
	}
	if !f.invalid {
		f.lastCheck(c.Validate())
	}
	r.acceptChecker(c, f.invalid)
}

// acceptChecker adds a valid checker, unless the file may not contain it. For an invalid
// one it adds a stand-in rule that asks.
func (r *reader) acceptChecker(c policy.Checker, invalid bool) {
	if invalid {
		r.file.StandIns = append(r.file.StandIns, checkerStandIn(c))
		return
	}
	if why, remedy := r.whyIgnored(false, c.Modes); why != "" {
		r.report(c.Line, "", KindIgnored, Warning, "The checker is ignored "+why, remedy)
		return
	}
	r.file.Checkers = append(r.file.Checkers, c)
}

// externalName matches the names of external checkers.
var externalName = lazyregexp.New(`^[a-z0-9-]+$`)

// checked reads the table checker.
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
	in := f.r.fields(t, f.under+"checker.", f.effect)
	in.program(c)
	in.warnUnknown()
	f.invalid = f.invalid || in.invalid
}

// program reads the type, name and configuration of a checker.
func (in *fields) program(c *policy.Checker) {
	in.need("type", "name")
	switch in.choice([]string{"in-process", "external"}, "type") {
	case "in-process":
		c.Name = in.choice([]string{"allowed-path", "conseca"}, "name")
	case "external":
		c.External = true
		c.Name = in.line("name")
		if c.Name != "" && !externalName().MatchString(c.Name) {
			in.fail(in.get("name").Line, "name", KindSchema, quote(c.Name)+" is not a name of lower-case letters, digits and hyphens.", "")
		}
	default:
		in.text("name")
	}
	c.RequiredContext = in.contexts()
	c.Config = in.settings("config")
}

// checkerKeys are the keys of a rule that contain checkers.
var checkerKeys = []string{checkerTable, "safety_checkers", "checker", "checkers"}

// holdsCheckers reports whether a key of a rule, in any spelling, contains checkers.
func holdsCheckers(key string) bool {
	return slices.ContainsFunc(checkerKeys, func(known string) bool { return folded(key) == folded(known) })
}

// nested reads the checkers within a rule: one table or an array of tables, with the
// keys of checker or with the key checker itself, and an optional priority. They apply
// to the calls that the rule matches. A problem in one drops a rule that allows.
func (f *fields) nested(rule policy.Rule) {
	effect := "The rule applies, and the calls of the checker need approval."
	if rule.Decision != policy.Deny && rule.Decision != policy.AskUser {
		effect = "The rule is not in force, and the calls of the checker need approval; other rules are not affected."
	}
	for _, e := range f.t.Members {
		if !holdsCheckers(e.Key) {
			continue
		}
		f.seen[e.Key] = true
		items, isList := e.Value.([]position.Node)
		if !isList || len(items) == 0 {
			items = []position.Node{e.Node}
		}
		for _, item := range items {
			c := checkerFor(rule)
			c.Line = item.Line + f.r.skipped
			t, ok := item.Value.(*position.Table)
			if !ok {
				t = &position.Table{Line: item.Line}
			}
			in := f.r.fields(t, clip(e.Key)+".", effect)
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
				c.Tools, in.invalid = nil, true
			}
			if !in.invalid && !f.invalid {
				in.lastCheck(c.Validate())
			}
			f.r.acceptChecker(c, in.invalid || f.invalid)
			f.invalid = f.invalid || in.invalid && rule.Decision != policy.Deny && rule.Decision != policy.AskUser
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
		return []string{} // an empty list, which differs from nil
	}
	return contexts
}

// warnUnknown reports unknown keys that cannot make a rule broader.
func (f *fields) warnUnknown() {
	for _, e := range f.unknown() {
		remedy := "Remove it."
		if nearest := nearestKey(e.Key, f.known()); nearest != "" {
			remedy = "Did you mean " + nearest + "?"
		}
		f.warn(e.Line, e.Key, KindUnknownKey, fmt.Sprintf("The key %s is unknown. It is not read.", quote(e.Key)), remedy)
	}
}

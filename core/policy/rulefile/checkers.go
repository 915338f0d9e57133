package rulefile

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/fettle-dev/fettle/core/policy"
)

const checkerLost = "The checker is left out, and what it may be meant for is asked about; the others hold."

// checker reads one [[safety_checker]].
func (r *reader) checker(t *table) {
	f := r.fields(t, "", checkerLost)
	rule := f.conditions()
	c := policy.Checker{
		Tools: rule.Tools, Server: rule.Server, ArgsPattern: rule.ArgsPattern, CommandPrefix: rule.CommandPrefix,
		CommandRegex: rule.CommandRegex, Annotations: rule.Annotations, Modes: rule.Modes, Confined: rule.Confined,
		Tier: rule.Tier, Source: rule.Source, Line: rule.Line,
	}
	if n, ok := f.integer("priority"); ok {
		if n != int64(int32(n)) {
			f.fail(f.get("priority").line, "priority", KindSchema, fmt.Sprintf("It is %d, and must be an integer of up to %d.", n, math.MaxInt32), "")
		}
		c.Priority = int(n)
	}
	f.checked(&c)
	f.warnUnknown()
	if slices.ContainsFunc(f.unknown(), func(e *entry) bool { return namesServer(e.key, nearestKey(e.key, f.known())) }) {
		c.Tools, f.spoil = nil, true
	}
	if !f.spoil {
		f.lastCheck(c.Validate())
	}
	if f.spoil {
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
	t, ok := e.value.(*table)
	if !ok {
		f.wrong(e, e.line, e.value, "a table")
		return
	}
	in := f.r.fields(t, "checker.", checkerLost)
	in.need("type", "name")
	switch in.choice([]string{"in-process", "external"}, "type") {
	case "in-process":
		c.Name = in.choice([]string{"allowed-path", "conseca"}, "name")
	case "external":
		c.External = true
		c.Name = in.line("name")
		if c.Name != "" && !externalName.MatchString(c.Name) {
			in.fail(in.get("name").line, "name", KindSchema, quote(c.Name)+" is not a name of lower-case letters, digits and hyphens.", "")
		}
	default:
		in.text("name")
	}
	c.RequiredContext = in.contexts()
	c.Config = in.settings("config")
	in.warnUnknown()
	f.spoil = f.spoil || in.spoil
}

func (f *fields) contexts() []string {
	known := []string{"environment", "history"}
	e := f.get("required_context")
	contexts := f.texts(false, true, "required_context")
	for _, context := range contexts {
		if !slices.Contains(known, context) {
			f.badChoice(e.line, e.key, context, known)
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
		if nearest := nearestKey(e.key, f.known()); nearest != "" {
			remedy = "Is " + nearest + " meant?"
		}
		f.warn(e.line, e.key, KindUnknownKey, fmt.Sprintf("The key %s is unknown. It is not read.", quote(e.key)), remedy)
	}
}

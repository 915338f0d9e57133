package policy

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
)

// rule is a compiled [Rule].
type rule struct {
	Rule
	at       int // position in the effective order
	tightens bool
	kinds    []string // of generated rules: the kinds that they apply to; nil: all
	modes    modeSet  // 0: all
	title    string   // label
	id       string   // title, tier and position
	reason   string   // its effect on calls, as a sentence
	effect   string   // its effect on commands, as a sentence
	own      generated

	args     *regexp.Regexp // searched in the canonical arguments
	command  *regexp.Regexp // searched in them too
	anchored *regexp.Regexp // searched from the start of a command
	traits   traits
	prefixes [][]string
	given    []condition // those that the rule has
}

// modeSet is a set of approval modes.
type modeSet uint8

// modeBit returns the set of one mode; an invalid mode counts as the default one.
func modeBit(m ApprovalMode) modeSet {
	return 1 << m.index()
}

// modesOf returns the modes whose rules apply in a mode: auto includes autoEdit.
func modesOf(m ApprovalMode) modeSet {
	if m == ModeAuto {
		return modeBit(ModeAuto) | modeBit(ModeAutoEdit)
	}
	return modeBit(m)
}

const planBit = modeSet(1) // ModePlan is the first mode of modes

// newRule returns a rule without its patterns and its description.
func newRule(r Rule) *rule {
	c := &rule{Rule: r, tightens: r.Decision != Allow, title: r.label()}
	for _, m := range r.Modes {
		c.modes |= modeBit(m)
	}
	for _, condition := range conditions {
		if condition.given(&r) {
			c.given = append(c.given, condition)
		}
	}
	return c
}

// compileRule compiles a rule; the error is that of [Rule.Validate].
func compileRule(r Rule) (*rule, error) {
	if err := checkNames(r); err != nil {
		return nil, err
	}
	if err := checkCommand(r); err != nil {
		return nil, err
	}
	if err := checkConfined(r); err != nil {
		return nil, err
	}
	if err := checkRun(r); err != nil {
		return nil, err
	}
	c := newRule(r)
	var err error
	if c.prefixes, err = prefixes(r); err != nil {
		return nil, err
	}
	if r.ArgsPattern != "" {
		if c.args, err = compilePattern(r.ArgsPattern); err != nil {
			return nil, invalid(r, "argsPattern: %v", err)
		}
		c.traits = traitsOf(r.ArgsPattern)
	}
	if r.CommandRegex != "" {
		if _, err := compilePattern(r.CommandRegex); err != nil {
			return nil, invalid(r, "commandRegex: %v", err)
		}
		c.command = regexp.MustCompile(`"command":"(?:` + r.CommandRegex + `)`)
		c.anchored = regexp.MustCompile(`\A(?:` + r.CommandRegex + `)`)
		c.traits = traitsOf(r.CommandRegex)
	}
	c.describe()
	return c, nil
}

// patterned reports whether the rule inspects arguments or commands.
func (r *rule) patterned() bool {
	return r.args != nil || r.command != nil || len(r.prefixes) > 0
}

// holds reports whether the conditions that do not depend on arguments are met.
// In plan mode only a rule that names the mode, or a generated one, allows.
func (r *rule) holds(c *Call) bool {
	for _, condition := range r.given {
		if !condition.holds(r, c) {
			return false
		}
	}
	if r.kinds != nil && !slices.Contains(r.kinds, kindOf(c)) {
		return false
	}
	return r.tightens || r.runsAs(c) && (c.Mode != ModePlan || r.modes&planBit != 0 || r.own != written)
}

// open reports whether the rule allows confined commands although the confinement
// of the call's command permits writing protected paths: then the rule does not
// cover it.
func (r *rule) open(c *Call) bool {
	return r.Confined != nil && *r.Confined && !r.tightens && !r.Approval && c.Confined != "" && !c.Sealed && c.Tool != writeFile
}

// effects compares the effects of a rule with those that a call declares. A call
// that declares none, or changes something by an undeclared effect, may do
// anything, and no rule that allows effects covers it.
func (r *rule) effects(c *Call) bool {
	if r.tightens {
		return slices.ContainsFunc(c.Effects, func(e string) bool { return slices.Contains(r.Effects, e) })
	}
	if len(c.Effects) == 0 || slices.ContainsFunc(c.Effects, func(e string) bool { return !slices.Contains(r.Effects, e) }) {
		return false
	}
	return !mutates(c) || slices.Contains(c.Effects, "write_files") || slices.Contains(c.Effects, "run_process")
}

// declares reports whether annotations contain all the wanted ones with their
// values.
func declares(annotations, wanted map[string]any) bool {
	for key, want := range wanted {
		if got, ok := annotations[key]; !ok || !equal(want, got) {
			return false
		}
	}
	return true
}

// equal compares values as JSON does, with all numbers of one type.
func equal(a, b any) bool {
	x, isNumber := number(a)
	if y, ok := number(b); ok || isNumber {
		return ok && isNumber && x == y
	}
	return reflect.DeepEqual(a, b)
}

func number(v any) (float64, bool) {
	switch r := reflect.ValueOf(v); {
	case !r.IsValid():
	case r.CanInt():
		return float64(r.Int()), true
	case r.CanUint():
		return float64(r.Uint()), true
	case r.CanFloat():
		return r.Float(), true
	}
	return 0, false
}

// compare orders rules: those that restrict first, then by rank, then by
// strictness.
func compare(a, b *rule) int {
	if a.Restricts != b.Restricts {
		return map[bool]int{true: -1, false: 1}[a.Restricts]
	}
	return cmp.Or(cmp.Compare(b.rank(), a.rank()),
		cmp.Compare(strictness(b.Decision), strictness(a.Decision)))
}

// checker is a compiled [Checker]: its conditions are a rule, which matches like
// one that tightens.
type checker struct {
	Checker
	when *rule
}

// compileChecker compiles a checker; the error is that of [Checker.Validate].
func compileChecker(c Checker) (*checker, error) {
	conditions := c.conditions()
	if c.Name == "" {
		return nil, invalid(conditions, "a safety checker needs a name")
	}
	if c.Priority < 0 {
		return nil, invalid(conditions, "the priority is %d, which is negative", c.Priority)
	}
	when, err := compileRule(conditions)
	if err != nil {
		return nil, err
	}
	return &checker{c, when}, nil
}

func (c *checker) rank() int { return int(c.Tier)*1000 + c.Priority }

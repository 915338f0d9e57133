// Package policy decides whether a tool call may run, must be approved by a
// person, or must not run, and says why.
package policy

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Options are the parts of an [Engine]. The zero value decides by kind and
// approval mode alone.
type Options struct {
	Rules    []Rule
	Checkers []Checker
	PlansDir string // absolute directory whose *.md files plan mode may write (CR-22); "": none
	// Servers are the names of the MCP servers that there are. To a call of one
	// that is not among them, a rule that allows mcp_SERVER_TOOL applies only
	// where that cannot be read as another server's tool.
	Servers []string
	// Protected are further rows for the table of protected paths; see
	// [ProtectedPaths]. The mode autoEdit does not cover a change of what is in the
	// table, and no rule that allows a command covers one that the command makes.
	Protected []ProtectedPath

	// DisableAlwaysAllow leaves out what people have approved for good: rules
	// that allow at AlwaysAllowPriority, and session rules.
	DisableAlwaysAllow bool
}

// Engine decides about calls by rules, by the tool's kind and by the approval
// mode (AR-25…AR-27). It does no I/O, and its decision depends on the call and
// on the rules in force alone.
// It is safe for concurrent use; use [NewEngine] to make one.
type Engine struct {
	o        Options // but for Servers, which may change, not changed
	protects protects

	mu       sync.Mutex // held to change what follows
	checkers []*checker
	given    []*rule // in the order given
	now      atomic.Pointer[snapshot]
}

// NewEngine returns an engine. A rule or checker that cannot be used is an
// error of code invalid_config; see [Rule.Validate].
func NewEngine(o Options) (*Engine, error) {
	e := &Engine{o: o, protects: newProtects(o.Protected)}
	for _, c := range o.Checkers {
		ready, err := compileChecker(c)
		if err != nil {
			return nil, err
		}
		e.checkers = append(e.checkers, ready)
	}
	slices.SortStableFunc(e.checkers, func(a, b *checker) int { return b.rank() - a.rank() })
	rules, err := e.compile(o.Rules)
	if err != nil {
		return nil, err
	}
	e.given = append(rules, defaults()...)
	e.now.Store(e.snapshot(e.given))
	return e, nil
}

// compile makes rules ready, without those that do not count.
func (e *Engine) compile(rules []Rule) ([]*rule, error) {
	ready := make([]*rule, 0, len(rules))
	for _, r := range rules {
		c, err := compileRule(r)
		if err != nil {
			return nil, err
		}
		if e.o.DisableAlwaysAllow && (r.Session || r.Decision == Allow && r.Priority == AlwaysAllowPriority) {
			continue
		}
		ready = append(ready, c)
	}
	return ready, nil
}

func (e *Engine) snapshot(rules []*rule) *snapshot {
	return &snapshot{index: indexOf(rules, e.o.Servers), checkers: e.checkers, plansDir: e.o.PlansDir, protects: e.protects}
}

// Decide decides about a call (AR-25…AR-27, CR-22). c and what it refers to
// are not changed. Call.Line is used only if it is that of the call's command.
func (e *Engine) Decide(c Call) Decision { return e.now.Load().decide(&c) }

// Prepare fills in Call.Line of a shell call, so that [Engine.Paths] and
// [Engine.Decide] need not each take the command apart.
func (e *Engine) Prepare(c *Call) {
	if !isShell(c) {
		return
	}
	args := arguments{call: c}
	if command := args.text("command"); c.Line == nil || c.Line.Source != command {
		c.Line = shell.Parse(command)
	}
}

// Add puts more rules in force; approvals of the session have Rule.Session
// set. One that is in force already is left out.
// If one cannot be used, none is added, and the error is that of
// [Rule.Validate]. Decisions that have begun are made by the rules of before.
func (e *Engine) Add(rules ...Rule) error {
	ready, err := e.compile(rules)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	ready = slices.DeleteFunc(ready, func(r *rule) bool {
		return slices.ContainsFunc(e.given, func(old *rule) bool { return reflect.DeepEqual(old.Rule, r.Rule) })
	})
	if len(ready) == 0 {
		return nil
	}
	e.given = slices.Concat(e.given, ready)
	e.now.Store(e.snapshot(e.given))
	return nil
}

// Change is what [Engine.Change] does. Zero fields change nothing.
type Change struct {
	// Remove and RemoveCheckers are no longer in force; those that are not in force
	// are passed over.
	Remove         []Rule
	RemoveCheckers []Checker
	Add            []Rule // put in force; see [Engine.Add]
	AddCheckers    []Checker
	Servers        []string // takes the place of Options.Servers; nil: it stays
}

// Change takes rules and checkers out of force and puts others in force, in one
// step. If one cannot be used nothing has changed, and the error is of code
// invalid_config. Decisions that have begun are made by the rules of before.
func (e *Engine) Change(c Change) error {
	rules, err := e.compile(c.Add)
	if err != nil {
		return err
	}
	var checkers []*checker
	for _, given := range c.AddCheckers {
		ready, err := compileChecker(given)
		if err != nil {
			return err
		}
		checkers = append(checkers, ready)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(e.given), func(r *rule) bool {
		return slices.ContainsFunc(c.Remove, func(gone Rule) bool { return reflect.DeepEqual(gone, r.Rule) })
	})
	e.given = append(kept, rules...)
	e.checkers = append(slices.DeleteFunc(slices.Clone(e.checkers), func(ch *checker) bool {
		return slices.ContainsFunc(c.RemoveCheckers, func(gone Checker) bool { return reflect.DeepEqual(gone, ch.Checker) })
	}), checkers...)
	slices.SortStableFunc(e.checkers, func(a, b *checker) int { return b.rank() - a.rank() })
	if c.Servers != nil {
		e.o.Servers = slices.Clone(c.Servers)
	}
	e.now.Store(e.snapshot(e.given))
	return nil
}

// Rules lists the rules in the order in which they are tried, those included
// that are generated for the default tier, whose source is "built-in". Plan
// mode is none of them: it stands above all but denials.
func (e *Engine) Rules() []Rule {
	now := e.now.Load()
	rules := make([]Rule, len(now.rules))
	for i, r := range now.rules {
		rules[i] = r.Rule
	}
	return rules
}

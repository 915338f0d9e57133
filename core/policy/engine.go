// Package policy decides whether a tool call may run, requires approval, or is
// denied, and explains the decision. An [Engine], made by [NewEngine], evaluates
// a [Call] against its [Rule] values, the tool's kind and the [ApprovalMode], and
// returns a [Decision]. [Engine.Narrow] turns an approval into rules that
// remember it.
package policy

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Options configure an [Engine]. The zero value decides by kind and approval mode
// only.
type Options struct {
	Rules    []Rule
	Checkers []Checker
	PlansDir string // absolute directory whose *.md files plan mode may write; "": none
	// Servers are the names of the known MCP servers. To a call of an unknown
	// server, a rule that allows mcp_SERVER_TOOL applies only if that name cannot
	// be another server's tool.
	Servers []string
	// Protected are additional rows of the table of protected paths; see
	// docs/policy-commands.md. The modes autoEdit and auto do not cover a change of a
	// protected path, and no rule that allows a command covers such a change by the
	// command.
	Protected []ProtectedPath

	// ReadOnlyTable allows commands that the read-only table lists, in every mode
	// but plan; see package readonly. It requires [Call].Found.
	ReadOnlyTable bool

	// DisableAlwaysAllow ignores permanent approvals: rules that allow at
	// alwaysAllowPriority, and session rules.
	DisableAlwaysAllow bool
}

// Engine decides about calls by rules, by the tool's kind and by the approval
// mode. It does no I/O, and its decisions depend only on the call and the current
// rules. It is safe for concurrent use. Use [NewEngine] to create one.
type Engine struct {
	o        Options // immutable except for Servers
	protects protects

	mu       sync.Mutex // held to change the following fields
	checkers []*checker
	given    []*rule // in the given order
	now      atomic.Pointer[snapshot]
}

// NewEngine returns an engine. An invalid rule or checker is an error of code
// invalid_config; see [Rule.Validate].
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
	e.given = slices.Clip(defaults(o.ReadOnlyTable)) // shared, and copied by every change
	if len(rules) > 0 {
		e.given = append(rules, e.given...)
	}
	e.now.Store(e.snapshot(e.given))
	return e, nil
}

// compile compiles rules, without those that do not count.
func (e *Engine) compile(rules []Rule) ([]*rule, error) {
	ready := make([]*rule, 0, len(rules))
	for _, r := range rules {
		c, err := compileRule(r)
		if err != nil {
			return nil, err
		}
		if e.o.DisableAlwaysAllow && (r.Session || r.Decision == Allow && r.Priority == alwaysAllowPriority) {
			continue
		}
		ready = append(ready, c)
	}
	return ready, nil
}

func (e *Engine) snapshot(rules []*rule) *snapshot {
	return &snapshot{index: indexOf(rules, e.o.Servers, e.o.ReadOnlyTable), checkers: e.checkers, plansDir: e.o.PlansDir, readOnly: e.o.ReadOnlyTable, protects: e.protects}
}

// Decide decides about a call. It does not modify c. Call.Line is used only if it
// is that of the call's command.
func (e *Engine) Decide(c Call) Decision { return e.now.Load().decide(&c) }

// Prepare sets Call.Line of a shell call, so that [Engine.Paths] and
// [Engine.Decide] need not each parse the command.
func (e *Engine) Prepare(c *Call) { prepare(c) }

func prepare(c *Call) {
	if !isShell(c) {
		return
	}
	args := arguments{call: c}
	if command := args.text("command"); c.Line == nil || c.Line.Source != command {
		c.Line = shell.Parse(command)
	}
}

// Add adds rules; approvals of the session have Rule.Session set. A rule that is
// already present is ignored. If one is invalid, none is added, and the error is
// that of [Rule.Validate]. Decisions in progress use the previous rules.
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

// Change describes a change of an engine. Zero fields change nothing.
type Change struct {
	// Remove and RemoveCheckers are removed; unknown ones are ignored.
	Remove         []Rule
	RemoveCheckers []Checker
	Add            []Rule // added; see [Engine.Add]
	AddCheckers    []Checker
	Servers        []string // replaces Options.Servers; nil: unchanged
}

// Change removes and adds rules and checkers atomically. If one is invalid
// nothing changes, and the error has code invalid_config. Decisions in progress
// use the previous rules.
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

// Rules returns the rules in the order in which they are evaluated, including the
// generated ones of the default tier, whose source is "built-in". Plan mode is
// not among them: it ranks above all rules but denials.
func (e *Engine) Rules() []Rule {
	now := e.now.Load()
	rules := make([]Rule, len(now.rules))
	for i, r := range now.rules {
		rules[i] = r.Rule
	}
	return rules
}

package scheduler

import (
	"context"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// Policy decides about calls and remembers what a person has approved. The
// first three are those of *policy.Engine. It must be safe for concurrent use.
type Policy interface {
	Decide(c policy.Call) policy.Decision
	Paths(c policy.Call) []string // absolute paths whose real paths Decide wants to know
	Prepare(c *policy.Call)       // does once what Paths and Decide both need

	// Remember turns an approval of c into rules, narrowed to what c is, tests
	// that they allow it, saves them where the scope says so, and puts them in
	// force. shown are the [policy.Rule.Words] of the rules that the approver was
	// shown; it remembers none beside these. The error says why the approval is
	// not remembered; nothing has then changed.
	Remember(ctx context.Context, c policy.Call, s policy.Scope, shown []string) ([]policy.Rule, error)
	// CanRemember returns the rules that Remember would put in force, so that a
	// person is shown what an answer stands for. Where there are none the
	// answer is not offered. It changes nothing.
	CanRemember(c policy.Call, s policy.Scope) []policy.Rule
}

// InMemory returns a Policy that decides by an engine and keeps approvals in
// that engine alone, so that they end with it. Nothing can be saved.
func InMemory(e *policy.Engine) Policy { return inMemory{e} }

type inMemory struct{ *policy.Engine }

func (p inMemory) Remember(_ context.Context, c policy.Call, s policy.Scope, shown []string) ([]policy.Rule, error) {
	if s == policy.ScopeSaved {
		return nil, fault.New(fault.NotRemembered, "scheduler.remember",
			"This session has no policy file to save an approval to.", "")
	}
	rules, err := p.NarrowAs(c, s, shown)
	if err != nil {
		return nil, err
	}
	return rules, p.Add(rules...)
}

func (p inMemory) CanRemember(c policy.Call, s policy.Scope) []policy.Rule {
	if s == policy.ScopeSaved {
		return nil
	}
	rules, err := p.Narrow(c, s)
	if err != nil {
		return nil
	}
	return rules
}

// withoutRules is the Policy of a scheduler that was given none.
func withoutRules() Policy {
	e, err := policy.NewEngine(policy.Options{})
	if err != nil {
		panic("scheduler: an engine without rules: " + err.Error())
	}
	return InMemory(e)
}

package scheduler

import (
	"context"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// Policy decides about calls and remembers approvals. The first three methods are those of *policy.Engine. It must be
// safe for concurrent use.
type Policy interface {
	Decide(c policy.Call) policy.Decision
	Paths(c policy.Call) []string // absolute paths whose real paths Decide needs
	Prepare(c *policy.Call)       // computes values that Paths and Decide share

	// Remember turns an approval of c into rules that cover c, verifies that they allow it, saves them if the scope
	// requires it, and puts them in force. shown are the [policy.Rule.Words] of the rules that the approver saw; other
	// rules are not stored. The error is the reason why nothing was stored.
	Remember(ctx context.Context, c policy.Call, s policy.Scope, shown []string) ([]policy.Rule, error)
	// CanRemember returns the rules that Remember would store, so that the approver sees them. If there are none, the
	// outcome is not offered. It changes nothing.
	CanRemember(c policy.Call, s policy.Scope) []policy.Rule
}

// inMemory decides with an engine and keeps approvals in that engine only. It cannot save rules.
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

// withoutRules is the default Policy of a scheduler.
func withoutRules() Policy {
	e, err := policy.NewEngine(policy.Options{})
	if err != nil {
		panic("scheduler: an engine without rules: " + err.Error())
	}
	return inMemory{e}
}

package cli

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/scheduler"
)

func (f *fakeSession) Explain(_ context.Context, r scheduler.Request, _ scheduler.Situation) (policy.Decision, error) {
	if r.Tool == "error" {
		return policy.Decision{}, fault.New(fault.InvalidToolParams, "test", "No.", "")
	}
	return policy.Decision{Decision: policy.AskUser, Reason: "test", Parts: []policy.Part{}}, nil
}

func (f *fakeSession) Decide(policy.Call) policy.Decision {
	return policy.Decision{Decision: policy.AskUser, Reason: "test"}
}

func (f *fakeSession) PolicyRules() []policy.Rule      { return nil }
func (f *fakeSession) PolicyFiles() []rulefile.File    { return nil }
func (f *fakeSession) PolicyProblems() []fault.Problem { return nil }

// A rule that is ignored and a message that is are told apart.
func TestLikeness(t *testing.T) {
	rule, message := fault.Problem{Path: "p", Key: ""}, fault.Problem{Path: "p", Key: "denyMessage"}
	require.NotEqual(t, likeness(rule), likeness(message))
	require.Equal(t, likeness(rule), likeness(fault.Problem{Path: "p", Line: 5}))
}

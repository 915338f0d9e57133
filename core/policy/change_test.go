package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// AR-32: the rules of an extension are removed with it, atomically.
func TestChange(t *testing.T) {
	denied := policy.Rule{Name: "of an extension", Tools: []string{"x"}, Decision: policy.Deny, Tier: policy.TierExtension, Source: "extension e: p.toml", Line: 1}
	alike := denied
	alike.Line = 2
	checks := policy.Checker{Name: "guard", External: true, Rule: policy.Rule{Tools: []string{"y"}, Tier: policy.TierExtension, Source: "extension e: p.toml"}}
	e := engine(t)
	asked := func(tool string) policy.Decision { return e.Decide(policy.Call{Tool: tool, Mode: policy.ModeYolo}) }
	require.NoError(t, e.Change(policy.Change{Add: []policy.Rule{denied, alike}, AddCheckers: []policy.Checker{checks}, Servers: []string{"s"}}))
	require.Equal(t, policy.Deny, asked("x").Decision)
	require.Len(t, asked("y").Checkers, 1)

	bad := policy.Rule{Tools: []string{"z"}, Decision: "perhaps"}
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(e.Change(policy.Change{Remove: []policy.Rule{denied, alike}, Add: []policy.Rule{bad}})))
	require.Equal(t, policy.Deny, asked("x").Decision, "nothing has changed")

	require.NoError(t, e.Change(policy.Change{Remove: []policy.Rule{denied}}))
	require.Equal(t, 2, asked("x").Line, "the other one is left")
	require.NoError(t, e.Change(policy.Change{Remove: []policy.Rule{denied, alike}, RemoveCheckers: []policy.Checker{checks}}))
	require.NotEqual(t, policy.Deny, asked("x").Decision)
	require.Empty(t, asked("y").Checkers)
}

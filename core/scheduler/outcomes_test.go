package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/policy"
)

// AR-21: an outcome that lasts has a scope of policy, and each scope an outcome.
func TestScopesOfOutcomes(t *testing.T) {
	var scopes []policy.Scope
	for _, o := range bus.Outcomes() {
		if s := scopeOf(o.Outcome); s != "" {
			scopes = append(scopes, s)
		}
	}
	require.ElementsMatch(t, []policy.Scope{policy.ScopeSession, policy.ScopeSaved, policy.ScopeTool, policy.ScopeServer}, scopes)
	require.Empty(t, scopeOf("unknown"))
}

package config_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
)

// AR-26: a policy file's test that states the confinement of its command is
// decided accordingly, whatever confines the session's commands.
func TestDecideTakesConfinementAsItIs(t *testing.T) {
	yes := true
	c, err := config.New(config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir()}, Policy: config.Policy{Rules: []policy.Rule{{
		Tools: []string{"run_shell_command"}, Confined: &yes, Decision: policy.Allow, Priority: 100, Tier: policy.TierUser,
	}}}})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	call, _ := policy.WellKnown("run_shell_command")
	call.Params = json.RawMessage(`{"command": "make"}`)
	for kind, want := range map[string]policy.Verdict{"": policy.AskUser, "landlock": policy.Allow} {
		call.Confined, call.Sealed = kind, kind != ""
		d, err := c.Policy().Decide(call)
		require.NoError(t, err)
		require.Equal(t, want, d.Decision, kind)
		require.Equal(t, kind, d.Confined)
	}
}

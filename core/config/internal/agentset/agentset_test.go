package agentset

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/policy"
)

// EX-13, EX-14: an agent runs only the commands in its definition, in a mode no
// more permissive than the definition's.
func TestRulesOfAgent(t *testing.T) {
	d := &subagent.Definition{Name: "a", OnlyCommands: []string{"git"}, DeniedCommands: []string{"git push"}}
	e, err := policy.NewEngine(policy.Options{Rules: rulesOf(d)})
	require.NoError(t, err)
	verdict := func(agent, line string) policy.Verdict {
		args, _ := json.Marshal(map[string]string{"command": line})
		return e.Decide(policy.Call{Tool: "run_shell_command", Kind: "execute", Params: args, Mode: policy.ModeYolo, Subagent: agent}).Decision
	}
	require.Equal(t, policy.Allow, verdict("a", "git log"))
	require.Equal(t, policy.Deny, verdict("a", "git push"))
	require.Equal(t, policy.Deny, verdict("a", "git log; ls"))
	require.Equal(t, policy.Allow, verdict("b", "ls"))
	require.Equal(t, policy.Allow, verdict("", "ls"))

	plan := &subagent.Definition{Mode: "plan"}
	require.Equal(t, policy.ModePlan, Mode(plan, policy.ModeYolo))
	require.Empty(t, Mode(plan, policy.ModePlan))
	require.Empty(t, Mode(&subagent.Definition{Mode: "autoEdit"}, policy.ModeDefault))
	require.Empty(t, Mode(&subagent.Definition{}, policy.ModeYolo))
}

package config

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/config/internal/agentset"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// EX-13, EX-14: restrictions of an agent apply to the agents that it calls,
// directly and indirectly.
func TestOuterAgentsRestrict(t *testing.T) {
	outer := subagent.Definition{Name: "outer", Description: "O.", Prompt: "O.", Tools: []string{"read_file", "Bash", "invoke_agent"}, OnlyCommands: []string{"echo"}, DeniedCommands: []string{"echo no"}, Mode: "autoEdit"}
	inner := subagent.Definition{Name: "inner", Description: "I.", Prompt: "I.", Mode: "yolo"}
	most := subagent.Definition{Name: "most", Description: "M.", Prompt: "M.", Tools: []string{"write_file", "run_shell_command"}}
	c, err := New(Parameters{TargetDir: t.TempDir(), Environment: Environment{HomeDir: t.TempDir()}, Conversation: Conversation{Models: model.Always(silent{})}, Policy: Policy{ApprovalMode: policy.ModeYolo, AllowedTools: []string{"*"}, Rules: []policy.Rule{{Name: "admin", Tools: []string{"*"}, Decision: policy.Allow, Tier: policy.TierAdmin, Priority: 999}}},
		Agents: Agents{Definitions: []subagent.Definition{outer, inner, most}, Depth: 3}})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	t.Cleanup(func() { require.NoError(t, c.Close()) })

	caller := c
	for _, d := range []*subagent.Definition{&outer, &inner, &most} {
		s, err := agentHost{caller}.Begin(t.Context(), d)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		has := agentset.Tools(d, subagent.Within(s.Outer, s.Registry.All()))
		require.True(t, has["run_shell_command"], d.Name)
		require.False(t, has["write_file"], d.Name)
		for line, want := range map[string]scheduler.Status{"echo a": scheduler.StatusSuccess, "ls": scheduler.StatusDenied, "echo no": scheduler.StatusDenied, "echo a; ls": scheduler.StatusDenied} {
			args, _ := json.Marshal(map[string]string{"command": line})
			r := s.Agent.Scheduler.RunAll(t.Context(), []scheduler.Request{{CallID: "1", Tool: "run_shell_command", Args: args}})
			require.Equal(t, want, r[0].Status, "%s: %s: %v", d.Name, line, r[0].Result.Error)
		}
		next, err := caller.Derive(DeriveParameters{Subagent: d.Name, ApprovalMode: agentset.Mode(d, caller.ApprovalMode())})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, next.Close()) })
		next.agents, next.agentDepth = append(caller.agents[:len(caller.agents):len(caller.agents)], d), caller.agentDepth+1
		require.Equal(t, policy.ModeAutoEdit, next.ApprovalMode(), d.Name)
		caller = next
	}
}

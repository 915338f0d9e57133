package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-25: rules that allow programs let their harmless everyday lines run: at most
// 3 of a hundred require approval.
func TestHarmlessLinesOfPrograms(t *testing.T) {
	lines := listed(t, "programs.txt")
	require.GreaterOrEqual(t, len(lines), 300)
	var programs []string
	for _, line := range lines {
		for command := range strings.SplitSeq(line, " | ") {
			programs = append(programs, strings.Fields(command)[0])
		}
	}
	e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{{
		Tools: []string{"run_shell_command"}, Decision: policy.Allow, CommandPrefix: programs, Priority: 1, Tier: policy.TierUser,
	}}})
	require.NoError(t, err)
	asked := 0
	for _, line := range lines {
		if d := decide(t, e, line, policy.ModeDefault); d.Decision != policy.Allow {
			asked++
			t.Logf("%q: %s", line, d.Reason)
		}
	}
	require.LessOrEqual(t, asked*100, len(lines)*3)
}

package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-27, CR-22: a rule without modes that allows does not allow a change in plan
// mode, and the decision reports a preview; one that names plan allows.
func TestPlanPreviews(t *testing.T) {
	for name, tt := range map[string]struct {
		modes []policy.ApprovalMode
		want  policy.Verdict
	}{"no modes": {nil, policy.AskUser}, "default": {[]policy.ApprovalMode{policy.ModeDefault}, policy.AskUser}, "plan": {[]policy.ApprovalMode{policy.ModePlan}, policy.Allow}} {
		rule := policy.Rule{Tools: []string{"write_file"}, Decision: policy.Allow, Priority: 1, Tier: policy.TierUser, Modes: tt.modes}
		e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{rule}})
		require.NoError(t, err)
		d := e.Decide(policy.Call{Tool: "write_file", Kind: "edit", Params: json.RawMessage(`{"file_path":"a","content":""}`), Mode: policy.ModePlan})
		require.Equal(t, tt.want, d.Decision, name)
		text, err := json.Marshal(d)
		require.NoError(t, err)
		require.Equal(t, tt.want == policy.AskUser, json.Valid(text) && d.Previews, name)
		var shown struct{ Preview bool }
		require.NoError(t, json.Unmarshal(text, &shown))
		require.Equal(t, tt.want == policy.AskUser, shown.Preview, name)
	}
}

package conversation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// PB-05: calls are counted by whether they asked, and commands by whether they ran
// confined.
func TestApprovalStatistics(t *testing.T) {
	decided := func(v policy.Verdict, run confirmation.Run, confined string) policy.Decision {
		return policy.Decision{Explanation: confirmation.Explanation{Decision: v, Run: run, Confined: confined}}
	}
	for name, test := range map[string]struct {
		response scheduler.Response
		want     ApprovalStatistics
	}{
		"allowed":           {scheduler.Response{Status: scheduler.StatusSuccess, Decision: decided(policy.Allow, "", "")}, ApprovalStatistics{Free: 1}},
		"allowed, fails":    {scheduler.Response{Status: scheduler.StatusError, Decision: decided(policy.Allow, "", "")}, ApprovalStatistics{Free: 1}},
		"confined":          {scheduler.Response{Status: scheduler.StatusSuccess, Decision: decided(policy.Allow, confirmation.RunConfined, "namespaces")}, ApprovalStatistics{Free: 1, Confined: 1}},
		"read only":         {scheduler.Response{Status: scheduler.StatusSuccess, Decision: decided(policy.Allow, confirmation.RunRead, "namespaces")}, ApprovalStatistics{Free: 1, Confined: 1}},
		"confined session":  {scheduler.Response{Status: scheduler.StatusSuccess, Asked: true, Decision: decided(policy.AskUser, "", "landlock")}, ApprovalStatistics{Prompts: 1, Confined: 1}},
		"approved":          {scheduler.Response{Status: scheduler.StatusSuccess, Asked: true, Decision: decided(policy.AskUser, confirmation.RunUnconfined, "")}, ApprovalStatistics{Prompts: 1}},
		"declined":          {scheduler.Response{Status: scheduler.StatusDenied, Asked: true, Decision: decided(policy.AskUser, confirmation.RunUnconfined, "")}, ApprovalStatistics{Prompts: 1, Refused: 1}},
		"no approver":       {scheduler.Response{Status: scheduler.StatusDenied, Decision: decided(policy.AskUser, "", "")}, ApprovalStatistics{Refused: 1}},
		"denied":            {scheduler.Response{Status: scheduler.StatusDenied, Decision: decided(policy.Deny, "", "")}, ApprovalStatistics{Refused: 1}},
		"preview":           {scheduler.Response{Status: scheduler.StatusSuccess, Preview: true, Decision: decided(policy.Allow, "", "")}, ApprovalStatistics{}},
		"invalid arguments": {scheduler.Response{Status: scheduler.StatusError}, ApprovalStatistics{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStatistics()
			s.addCall(test.response, time.Second)
			require.Equal(t, test.want, s.Tools.Approvals)
		})
	}
}

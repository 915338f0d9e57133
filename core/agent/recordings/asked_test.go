package recordings

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/transcript"
	"github.com/fettle-dev/fettle/core/tools"
)

// PB-04: the calls that asked an approver, as this build and older ones record them.
func TestAsked(t *testing.T) {
	recorded := func(r scheduler.Response) transcript.ToolCall {
		r.Tool, r.Params = "run_shell_command", json.RawMessage(`{"command":"go test"}`)
		return callRecord(r)
	}
	old := func(status, decision, failed string) transcript.ToolCall {
		c := transcript.ToolCall{Name: "run_shell_command", Args: json.RawMessage(`{"command":"go test"}`), Status: status, Decision: json.RawMessage(decision)}
		if failed != "" {
			c.Error = json.RawMessage(`{"type":"` + failed + `"}`)
		}
		return c
	}
	asks := policy.Decision{Explanation: confirmation.Explanation{Decision: policy.AskUser, Confined: "landlock"}}
	allows := policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Allow}}
	mode := policy.ModeAutoEdit
	said := tools.Fail(fault.New(fault.DeniedByUser, "test", "No.", ""))
	for name, test := range map[string]struct {
		call transcript.ToolCall
		want *AskedCall
	}{
		"approved":        {recorded(scheduler.Response{Status: scheduler.StatusSuccess, Decision: asks, Mode: mode, Asked: true}), &AskedCall{Mode: &mode, Confined: "landlock"}},
		"approved, fails": {recorded(scheduler.Response{Status: scheduler.StatusError, Decision: asks, Mode: mode, Asked: true}), &AskedCall{Mode: &mode, Confined: "landlock"}},
		"refused":         {recorded(scheduler.Response{Status: scheduler.StatusDenied, Result: said, Decision: asks, Mode: mode, Asked: true}), &AskedCall{Mode: &mode, Confined: "landlock", Refused: true}},
		"no approver":     {recorded(scheduler.Response{Status: scheduler.StatusDenied, Decision: asks, Mode: mode}), nil},
		"allowed":         {recorded(scheduler.Response{Status: scheduler.StatusSuccess, Decision: allows, Mode: mode}), nil},
		"cancelled":       {recorded(scheduler.Response{Status: scheduler.StatusCancelled, Decision: asks, Mode: mode, Asked: true}), nil},
		"masked": {transcript.ToolCall{Name: "x", Args: json.RawMessage(`{"key":"[masked]"}`), Status: "success",
			Decision: json.RawMessage(`{"decision":"ask_user","asked":true,"mode":"default"}`)}, nil},
		"old, approved":    {old("success", `{"decision":"ask_user"}`, ""), &AskedCall{}},
		"old, refused":     {old("denied", `{"decision":"ask_user"}`, "denied_by_user"), &AskedCall{Refused: true}},
		"old, no approver": {old("denied", `{"decision":"ask_user"}`, "nobody_to_ask"), nil},
		"old, failed":      {old("error", `{"decision":"ask_user"}`, "execution_failed"), nil},
		"old, preview":     {old("success", `{"decision":"ask_user","preview":true}`, ""), nil},
		"undecided":        {old("error", "", "invalid_tool_params"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Asked(&transcript.Session{Turns: []transcript.Turn{{Calls: []transcript.ToolCall{test.call}}}})
			if test.want == nil {
				require.Empty(t, got)
				return
			}
			test.want.Tool, test.want.Args = "run_shell_command", json.RawMessage(`{"command":"go test"}`)
			require.Equal(t, []AskedCall{*test.want}, got)
		})
	}
}

package recordings

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// AskedCall is a recorded call about which an approver was asked.
type AskedCall struct {
	Tool     string
	Args     json.RawMessage
	Time     time.Time
	Refused  bool
	Mode     *policy.ApprovalMode // nil: recorded by an older build, which did not record it
	Confined string               // the confinement of all commands; "": none
}

// Asked returns the calls of a session about which an approver was asked, in their
// order. Older recordings do not state whether a call asked; of those, Asked returns
// the successful calls that needed approval and the calls that the approver refused. Calls with masked
// arguments, previews and cancelled calls are omitted.
func Asked(s *transcript.Session) []AskedCall {
	var asked []AskedCall
	for _, turn := range s.Turns {
		for _, call := range turn.Calls {
			if a, ok := askedCall(call); ok {
				a.Time = turn.Time
				asked = append(asked, a)
			}
		}
	}
	return asked
}

func askedCall(call transcript.ToolCall) (AskedCall, bool) {
	var d struct {
		confirmation.Explanation
		Mode  *policy.ApprovalMode `json:"mode"`
		Asked bool                 `json:"asked"`
	}
	if len(call.Args) == 0 || bytes.Contains(call.Args, []byte(redact.Mark)) || json.Unmarshal(call.Decision, &d) != nil || d.Previews {
		return AskedCall{}, false
	}
	var failed fault.Error
	_ = json.Unmarshal(call.Error, &failed) // zero without an error
	status := scheduler.Status(call.Status)
	refused := status == scheduler.StatusDenied && (d.Asked || failed.Code == fault.DeniedByUser)
	approved := d.Asked && (status == scheduler.StatusSuccess || status == scheduler.StatusError) ||
		d.Mode == nil && d.Decision == policy.AskUser && status == scheduler.StatusSuccess
	if !refused && !approved {
		return AskedCall{}, false
	}
	a := AskedCall{Tool: call.Name, Args: call.Args, Refused: refused, Mode: d.Mode}
	if d.Run == "" {
		a.Confined = d.Confined
	}
	return a, true
}

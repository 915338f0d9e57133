package recordings

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// turnOf converts a turn and the calls that it answers; highest is the highest
// version so far.
func turnOf(e agent.Entry, highest int64) transcript.Turn {
	turn := transcript.Turn{Content: plain(e.Content), Time: e.Time, Model: e.Model, Highest: highest}
	if e.Usage != (model.Usage{}) {
		turn.Usage = plain(e.Usage)
	}
	for _, response := range e.Responses {
		turn.Calls = append(turn.Calls, callRecord(response))
	}
	return turn
}

// History returns a recorded session's turns, and the problems in it.
func History(s *transcript.Session) ([]model.Content, []fault.Problem) {
	history := make([]model.Content, 0, len(s.Turns))
	var lost []fault.Problem
	for i, turn := range s.Turns {
		var content model.Content
		if err := json.Unmarshal(turn.Content, &content); err != nil {
			lost = append(lost, fault.Problem{Path: s.Path, Message: fmt.Sprintf("Turn %d is invalid and is ignored: %s.", i+1, err)})
			continue
		}
		history = append(history, content)
	}
	return history, lost
}

// Contents converts the turns of a history.
func Contents(history []model.Content) []json.RawMessage {
	raw := make([]json.RawMessage, len(history))
	for i, content := range history {
		raw[i] = plain(content)
	}
	return raw
}

// callRecord converts a call, without its answer to the model, which contains the
// result.
func callRecord(r scheduler.Response) transcript.ToolCall {
	call := transcript.ToolCall{
		ID: r.CallID, Name: r.Tool, Args: r.Params, Status: string(r.Status), Display: plain(r.Result.ReturnDisplay), Notices: r.Notices,
	}
	if !json.Valid(call.Args) {
		call.Args = nil // the call ended before they were validated
	}
	if r.Result.Error != nil {
		call.Error = plain(r.Result.Error)
	}
	if r.Decision.Decision != "" {
		call.Decision = plain(recordedDecision{r.Decision.Explanation, r.Mode, r.Asked})
	}
	return call
}

// recordedDecision is the JSON of a call's decision. Recordings of older builds have
// neither the mode nor whether an approver was asked.
type recordedDecision struct {
	confirmation.Explanation
	Mode  policy.ApprovalMode `json:"mode,omitempty"`
	Asked bool                `json:"asked,omitempty"`
}

// plain returns v as JSON without HTML escapes; nil if it cannot be encoded,
// which the recorder refuses.
func plain(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

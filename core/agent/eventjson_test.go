package agent_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// I14: each event has a JSON form, that of stream-json where it has one, and reading it back gives an event with the
// same form.
func TestEventJSON(t *testing.T) {
	t.Parallel()
	failed := fault.New(fault.LoopDetected, "op", "It repeats <itself>.", "Stop it.")
	call := &model.FunctionCall{ID: "c1", Name: "glob", Args: json.RawMessage(`{"n":9007199254740993}`)}
	response := func(r tools.Result) *scheduler.Response {
		return &scheduler.Response{Status: scheduler.StatusSuccess, Result: r}
	}
	const failure = `"message":"It repeats <itself>. Stop it.","event":`
	for _, tt := range []struct {
		event agent.Event
		want  string
	}{
		{agent.Event{Type: agent.EventModel, Text: "m"}, `{"type":"model_info","model":"m"}`},
		{agent.Event{Type: agent.EventText, Text: "a<b"}, `{"type":"message","role":"assistant","content":"a<b","delta":true}`},
		{agent.Event{Type: agent.EventText, Time: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)},
			`{"type":"message","timestamp":"2026-01-02T03:04:05.006Z","role":"assistant","content":"","delta":true}`},
		{agent.Event{Type: agent.EventThought, Thought: &agent.Thought{Subject: "s", Description: "d"}}, `{"type":"thought","thought":{"subject":"s","description":"d"}}`},
		{agent.Event{Type: agent.EventToolCall, Call: call}, `{"type":"tool_use","tool_name":"glob","tool_id":"c1","parameters":{"n":9007199254740993}}`},
		{agent.Event{Type: agent.EventToolCall, Call: &model.FunctionCall{ID: "c1", Name: "glob", Args: json.RawMessage(`nonsense`)}},
			`{"type":"tool_use","tool_name":"glob","tool_id":"c1","parameters":{"invalid_arguments":"nonsense"}}`},
		{agent.Event{Type: agent.EventToolResponse, Call: call, Response: response(tools.Result{ReturnDisplay: tools.TextDisplay("two files"), Context: "x"})},
			`{"type":"tool_result","tool_id":"c1","status":"success","output":"two files","context":"x"}`},
		{agent.Event{Type: agent.EventToolResponse, Call: call, Response: response(tools.Result{ReturnDisplay: tools.Display{ANSI: &tools.ANSIOutput{ANSI: "\x1b[31m10%\r99%\r\n"}}})},
			`{"type":"tool_result","tool_id":"c1","status":"success","output":"99%\n"}`},
		{agent.Event{Type: agent.EventToolResponse, Call: call, Response: &scheduler.Response{Status: scheduler.StatusDenied, Preview: true, Notices: []string{"n"},
			Result: tools.Result{Error: failed}}},
			`{"type":"tool_result","tool_id":"c1","status":"error","preview":true,"error":{"type":"loop_detected","message":"It repeats <itself>. Stop it."},"notices":["n"]}`},
		{agent.Event{Type: agent.EventCitation, Text: "a\nb"}, `{"type":"citation","content":"a\nb"}`},
		{agent.Event{Type: agent.EventFinished, Finish: model.FinishStop, Usage: model.Usage{Input: 3}},
			`{"type":"finished","finish_reason":"stop","usage":{"input":3,"output":0,"cached":0,"thoughts":0,"tool":0,"total":0}}`},
		{agent.Event{Type: agent.EventRetry, Retry: &agent.RetryInfo{Attempt: 2, Wait: 1500 * time.Millisecond, Reason: failed}},
			`{"type":"retry","attempt":2,"wait_ms":1500,"error":{"type":"loop_detected","message":"It repeats <itself>. Stop it."}}`},
		{agent.Event{Type: agent.EventCompaction, Compaction: &agent.Compaction{Status: agent.Compacted, Before: 9, After: 3}},
			`{"type":"chat_compressed","compaction":{"compressionStatus":1,"originalTokenCount":9,"newTokenCount":3}}`},
		{agent.Event{Type: agent.EventWarning, Text: "careful", Err: failed}, `{"type":"error","severity":"warning","message":"careful","code":"loop_detected"}`},
		{agent.Event{Type: agent.EventWarning, Text: "careful"}, `{"type":"error","severity":"warning","message":"careful"}`},
		{agent.Event{Type: agent.EventDone}, `{"type":"done"}`},
		{agent.Event{Type: agent.EventError, Err: failed}, `{"type":"error","severity":"error",` + failure + `"error","code":"loop_detected"}`},
		{agent.Event{Type: agent.EventCancelled}, `{"type":"user_cancelled"}`},
		{agent.Event{Type: agent.EventLimit, Err: failed}, `{"type":"error","severity":"error",` + failure + `"max_session_turns","code":"loop_detected"}`},
		{agent.Event{Type: agent.EventLoop, Err: failed}, `{"type":"error","severity":"error",` + failure + `"loop_detected","code":"loop_detected"}`},
		{agent.Event{Type: agent.EventOverflow, Tokens: 9, Limit: 8, Err: failed},
			`{"type":"error","severity":"error",` + failure + `"context_window_will_overflow","code":"loop_detected","tokens":9,"limit":8}`},
		{agent.Event{Type: agent.EventInvalidStream, Err: failed}, `{"type":"error","severity":"error",` + failure + `"invalid_stream","code":"loop_detected"}`},
		{agent.Event{Type: agent.EventStopped, Text: "why"}, `{"type":"agent_execution_stopped","content":"why"}`},
		{agent.Event{Type: agent.EventBlocked, Text: "why"}, `{"type":"agent_execution_blocked","content":"why"}`},
	} {
		data, err := tt.event.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, tt.want, string(data))
		var back agent.Event
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, tt.event.Type, back.Type)
		again, err := back.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, tt.want, string(again))
	}
	var e agent.Event
	require.NoError(t, json.Unmarshal([]byte(`{"type":"init","session_id":"x"}`), &e))
	require.EqualValues(t, "init", e.Type)
	require.Error(t, json.Unmarshal([]byte(`{"type":"done","timestamp":"yesterday"}`), &e))
}

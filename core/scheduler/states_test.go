package scheduler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// record runs calls on a bus with a subscriber, and returns all messages in order.
func (s *setup) record(t *testing.T, ctx context.Context, requests ...scheduler.Request) []bus.Message {
	t.Helper()
	b := bus.New(bus.Options{})
	var all []bus.Message
	last := make(chan struct{})
	bus.Observe(context.Background(), b, func(_ context.Context, m bus.Message) {
		if _, ok := m.(bus.SubagentActivity); ok {
			close(last)
			return
		}
		all = append(all, m)
	})
	if s.answer != nil {
		bus.Subscribe(context.Background(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
			a := s.answer(q)
			a.CorrelationID = q.CorrelationID
			_ = b.Publish(a)
		})
	}
	s.options.Bus = b
	scheduler.New(s.options).RunAll(ctx, requests)
	require.NoError(t, b.Publish(bus.SubagentActivity{}))
	<-last
	require.NoError(t, b.Close())
	return all
}

// trace summarizes messages: the states of the only call, and the types of other messages.
func trace(all []bus.Message) string {
	var short []string
	for _, m := range all {
		if u, ok := m.(bus.ToolCallsUpdate); ok {
			short = append(short, string(u.ToolCalls[0].Status))
			continue
		}
		short = append(short, "["+string(bus.TypeOf(m))+"]")
	}
	return strings.Join(short, " ")
}

func one(id string) scheduler.Request {
	return scheduler.Request{CallID: id, Tool: "phony", Args: json.RawMessage("1")}
}

// Each change of state is published, for each way in which a call can end (spec 3.1).
func TestStates(t *testing.T) {
	const asked = "validating awaiting_approval [tool-confirmation-request] [tool-confirmation-response]"
	const executing = " scheduled executing"
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	tests := map[string]struct {
		verdict policy.Verdict
		outcome bus.Outcome
		change  func(*setup)
		ctx     context.Context
		want    string
	}{
		"success":     {policy.Allow, "", nil, nil, "validating" + executing + " [tool-execution-success] success"},
		"approved":    {policy.AskUser, bus.ProceedOnce, nil, nil, asked + executing + " [tool-execution-success] success"},
		"declined":    {policy.AskUser, bus.Cancel, nil, nil, asked + " denied"},
		"denied":      {policy.Deny, "", nil, nil, "validating [tool-policy-rejection] denied"}, // AR-26
		"no approver": {policy.AskUser, "", func(s *setup) { s.answer = nil }, nil, "validating denied"},
		"fails": {policy.Allow, "", func(s *setup) {
			s.run = func(context.Context, tools.Output) (tools.Result, error) {
				return tools.Fail(fault.New(fault.FileNotFound, "x", "It is not there.", "")), nil
			}
		}, nil, "validating" + executing + " [tool-execution-failure] error"},
		"bad arguments": {policy.Allow, "", func(s *setup) {
			s.build = func(json.RawMessage) error { return fault.New(fault.InvalidToolParams, "x", "Bad.", "") }
		}, nil, "validating error"},
		"cancelled before": {policy.Allow, "", nil, cancelled, "validating cancelled"},
		"cancelled in it": {policy.Allow, "", func(s *setup) {
			s.run = func(context.Context, tools.Output) (tools.Result, error) {
				return tools.Result{}, fault.New(fault.Cancelled, "x", "Stopped.", "")
			}
		}, nil, "validating" + executing + " [tool-execution-failure] cancelled"},
		"with output": {policy.Allow, "", func(s *setup) {
			s.run = func(_ context.Context, out tools.Output) (tools.Result, error) { out("a"); return tools.Result{}, nil }
		}, nil, "validating" + executing + " [tool-output] [tool-execution-success] success"},
		"stopped": {policy.Allow, "", func(s *setup) {
			s.options.Before = []scheduler.Before{func(context.Context, scheduler.Proposal) (scheduler.Advice, error) {
				return scheduler.Advice{Stop: true}, nil
			}}
		}, nil, "validating denied"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tools.KindEdit, tt.verdict, tt.outcome)
			if tt.change != nil {
				tt.change(s)
			}
			if tt.ctx == nil {
				tt.ctx = t.Context()
			}
			require.Equal(t, tt.want, trace(s.record(t, tt.ctx, one("c1"))))
		})
	}
}

// The content of a snapshot of a call at each state.
func TestSnapshot(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := newSetup(tools.KindEdit, policy.AskUser, bus.ProceedOnce)
	s.options.Now = func() time.Time { return now }
	s.options.ID = "mine"
	s.options.Subagent = "helper"
	s.run = func(context.Context, tools.Output) (tools.Result, error) {
		return tools.Fail(fault.New(fault.FileChangedSinceRead, "x", "It changed.", "Read it.").Because(fault.Changed)), nil
	}
	var states []bus.ToolCallState
	var question bus.ToolConfirmationRequest
	var ended bus.ToolExecutionFailure
	for _, m := range s.record(t, t.Context(), one("c1")) {
		switch m := m.(type) {
		case bus.ToolCallsUpdate:
			require.Equal(t, "mine", m.SchedulerID)
			states = append(states, m.ToolCalls[0])
		case bus.ToolConfirmationRequest:
			question = m
		case bus.ToolExecutionFailure:
			ended = m
		}
	}
	call := bus.ToolCall{Name: "fake", Args: json.RawMessage(`{"final":1}`)}
	failure := bus.Failure{Type: "file_changed_since_read", Message: "It changed.", Remedy: "Read it.", Reason: "changed"}
	known := bus.ToolCallState{CallID: "c1", Name: "fake", Description: "fakes something", Args: call.Args, Subagent: "helper"}
	at := func(status bus.CallStatus, change func(*bus.ToolCallState)) bus.ToolCallState {
		state := known
		state.Status = status
		change(&state)
		return state
	}
	require.NotEmpty(t, question.CorrelationID)
	require.Equal(t, []bus.ToolCallState{
		{CallID: "c1", Name: "phony", Args: json.RawMessage("1"), Subagent: "helper", Status: bus.StatusValidating},
		at(bus.StatusAwaitingApproval, func(s *bus.ToolCallState) { s.CorrelationID = question.CorrelationID }),
		at(bus.StatusScheduled, func(s *bus.ToolCallState) { s.Outcome = bus.ProceedOnce }),
		at(bus.StatusExecuting, func(s *bus.ToolCallState) { s.Outcome, s.StartTime = bus.ProceedOnce, now }),
		at(bus.StatusError, func(s *bus.ToolCallState) {
			s.Outcome, s.StartTime, s.Error, s.Display = bus.ProceedOnce, now, &failure, json.RawMessage(`"It changed."`)
		}),
	}, states)
	require.Equal(t, bus.ToolExecutionFailure{ToolCall: call, CallID: "c1", Error: failure}, ended)
	require.Equal(t, "helper", question.Subagent)
	require.Equal(t, call, question.ToolCall)
	require.Equal(t, "c1", question.CallID)
}

// CR-22: snapshots mark calls that were previewed and not run.
func TestPreviewIsReported(t *testing.T) {
	for mode, want := range map[policy.ApprovalMode]bool{policy.ModePlan: true, policy.ModeYolo: false} {
		s := newSetup(tools.KindEdit, "", "")
		s.options.Mode = func() policy.ApprovalMode { return mode }
		s.policy.decide = func(policy.Call) policy.Decision {
			if mode == policy.ModePlan {
				return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.AskUser, Previews: true}}
			}
			return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Allow}}
		}
		var last bus.ToolCallState
		for _, m := range s.record(t, t.Context(), one("c1")) {
			if u, ok := m.(bus.ToolCallsUpdate); ok {
				last = u.ToolCalls[0]
			}
		}
		require.Equal(t, bus.StatusSuccess, last.Status)
		require.Equal(t, want, last.Preview, mode)
	}
}

// A snapshot has all calls of the batch; later ones wait as validating.
func TestSnapshotsOfABatch(t *testing.T) {
	s := newSetup(tools.KindEdit, policy.Allow, "")
	var lines []string
	for _, m := range s.record(t, t.Context(), one("a"), one("b")) {
		if u, ok := m.(bus.ToolCallsUpdate); ok {
			require.Len(t, u.ToolCalls, 2)
			lines = append(lines, fmt.Sprint(u.ToolCalls[0].Status, " ", u.ToolCalls[1].Status))
		}
	}
	require.Equal(t, []string{
		"validating validating", "scheduled validating", "executing validating", "success validating",
		"success scheduled", "success executing", "success success",
	}, lines)
}

// AR-26: a denial is published with its explanation and the message of the rule.
func TestRejectionIsReported(t *testing.T) {
	s := newSetup(tools.KindEdit, "", "")
	s.policy.decide = func(policy.Call) policy.Decision {
		return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Deny, Rule: "no", Tier: "user", Source: "p.toml", Line: 3, Reason: "Because.", Message: "Use make."}}
	}
	s.options.Subject = func(c *policy.Call) { c.Subagent, c.Server = "helper", "srv" }
	var messages []bus.Message
	for _, m := range s.record(t, t.Context(), one("c1")) {
		if _, ok := m.(bus.ToolPolicyRejection); ok {
			messages = append(messages, m)
		}
	}
	require.Equal(t, []bus.Message{bus.ToolPolicyRejection{
		ToolCall: bus.ToolCall{Name: "fake", Args: json.RawMessage(`{"final":1}`)}, CallID: "c1", ServerName: "srv", Subagent: "helper",
		Decision: confirmation.Explanation{Decision: "deny", Rule: "no", Tier: "user", Source: "p.toml", Line: 3, Reason: "Because.", Message: "Use make."},
	}}, messages)
	require.Equal(t, "Tool execution denied by policy. Use make.", s.call(t.Context()).Result.Error.Message)
}

// Every message of a call can be encoded, whatever its arguments and its result contain.
func TestMessagesCanBeEncoded(t *testing.T) {
	s := newSetup(tools.KindEdit, policy.AskUser, bus.ProceedOnce)
	s.run = func(_ context.Context, out tools.Output) (tools.Result, error) {
		out("\xff")
		return tools.Result{LLMContent: tools.Text("\xff<a>"), ReturnDisplay: tools.TextDisplay("\x00")}, nil
	}
	for _, m := range s.record(t, t.Context(), one("c1"), scheduler.Request{Tool: "fake", Args: json.RawMessage("{")}) {
		text, err := bus.Marshal(m)
		require.NoError(t, err, bus.TypeOf(m))
		back, err := bus.Unmarshal(text)
		require.NoError(t, err)
		require.Equal(t, bus.TypeOf(m), bus.TypeOf(back))
	}
}

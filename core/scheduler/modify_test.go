package scheduler_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// AR-21: content that the user puts in place of the proposal is decided and shown again, until it is approved.
func TestModify(t *testing.T) {
	s, _ := newModifiable(policy.AskUser)
	s.answer = func(q bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
		require.Equal(t, len(s.questions) > 1, q.Modified)
		switch len(s.questions) {
		case 1:
			return edits("two")
		case 2:
			answer := edits("three")
			answer.Outcome = bus.ProceedOnce // the user's content differs from the content shown
			return answer
		}
		return answerWith(bus.ProceedOnce)
	}
	r := s.call(t.Context())
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Equal(t, "build decide confirm ask modify decide confirm ask modify decide confirm ask execute", strings.Join(s.steps, " "))
	require.Equal(t, `{"content":"three"}`, string(r.Params))
	var shown, judged []string
	ids := map[string]bool{}
	for i, q := range s.questions {
		shown = append(shown, q.Details.NewContent)
		judged = append(judged, string(s.decided[i].Params))
		require.Equal(t, q.Details.NewContent, string(q.ToolCall.Args))
		ids[q.CorrelationID] = true
	}
	require.Equal(t, []string{`{"final":1}`, `{"content":"two"}`, `{"content":"three"}`}, shown)
	require.Equal(t, shown, judged)
	require.Len(t, ids, 3)
}

// AR-21: an approval that returns the content shown is not a modification.
func TestContentAsShownIsNoChange(t *testing.T) {
	s, _ := newModifiable(policy.AskUser)
	s.answer = func(q bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
		return bus.ToolConfirmationResponse{Outcome: bus.ProceedOnce, Confirmed: true, Payload: bus.Payload{NewContent: &q.Details.NewContent}}
	}
	r := s.call(t.Context())
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Len(t, s.questions, 1)
	require.NotContains(t, s.steps, "modify")
}

// A call that the user has modified is shown again even if policy would allow it now, does not run if policy denies it,
// and is checked by the tool.
func TestModifyIsDecidedAgain(t *testing.T) {
	afterwards := func(verdict policy.Verdict) (*setup, *modifiable) {
		s, m := newModifiable(policy.AskUser)
		decide := s.policy.decide
		s.policy.decide = func(c policy.Call) policy.Decision {
			d := decide(c)
			if len(s.decided) > 1 {
				d.Decision = verdict
			}
			return d
		}
		s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
			if len(s.questions) == 1 {
				return edits("two")
			}
			return answerWith(bus.ProceedOnce)
		}
		return s, m
	}
	s, _ := afterwards(policy.Allow)
	s.policy.canRemember = func(policy.Scope) bool { return true }
	require.Equal(t, scheduler.StatusSuccess, s.call(t.Context()).Status)
	require.Len(t, s.questions, 2)
	require.Contains(t, s.questions[0].Outcomes, bus.ProceedAlways)
	require.NotContains(t, s.questions[1].Outcomes, bus.ProceedAlways, "it is allowed already")

	s, _ = afterwards(policy.Deny)
	r := s.call(t.Context())
	require.Equal(t, fault.PolicyViolation, r.Result.Error.Code)
	require.NotContains(t, s.steps, "execute")

	refusal := fault.New(fault.EditNoChange, "x", "Nothing to change.", "")
	for name, change := range map[string]func(*setup, *modifiable){
		"modify": func(_ *setup, m *modifiable) {
			m.modify = func(context.Context, string) (tools.ToolInvocation, error) { return nil, refusal }
		},
		"confirm": func(s *setup, m *modifiable) {
			confirm := s.confirm
			s.confirm = func(ctx context.Context) (*tools.Confirmation, error) {
				if slices.Contains(m.steps, "modify") {
					return nil, refusal
				}
				return confirm(ctx)
			}
		},
	} {
		s, m := afterwards(policy.AskUser)
		change(s, m)
		r := s.call(t.Context())
		require.Equal(t, scheduler.StatusError, r.Status, name)
		require.Equal(t, fault.EditNoChange, r.Result.Error.Code, name)
		require.NotContains(t, s.steps, "execute", name)
		require.Len(t, s.questions, 1, name)
	}

	s, m := afterwards(policy.AskUser)
	m.modify = func(context.Context, string) (tools.ToolInvocation, error) { panic("boom") }
	require.Equal(t, fault.UnhandledException, s.call(t.Context()).Result.Error.Code)
	require.Len(t, s.defects, 1)
	m.modify = func(context.Context, string) (tools.ToolInvocation, error) { return nil, nil }
	s.questions = nil
	require.Equal(t, fault.UnhandledException, s.call(t.Context()).Result.Error.Code)
}

// An answer with the outcome of an edit but without content changes nothing and does not run the call.
func TestModifyWithoutContent(t *testing.T) {
	s, _ := newModifiable(policy.AskUser)
	s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
		return answerWith(bus.ModifyWithEditor)
	}
	r := s.call(t.Context())
	require.Equal(t, scheduler.StatusDenied, r.Status)
	require.Contains(t, r.Result.Error.Message, "without the new content")
	require.NotContains(t, s.steps, "modify")
}

// AR-29: the user's editing ends with ctx.
func TestCancelWhileModifying(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, m := newModifiable(policy.AskUser)
	s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse { return edits("two") }
	m.modify = func(ctx context.Context, _ string) (tools.ToolInvocation, error) { cancel(); return nil, ctx.Err() }
	require.Equal(t, scheduler.StatusCancelled, s.call(ctx).Status)
	require.NotContains(t, s.steps, "execute")
}

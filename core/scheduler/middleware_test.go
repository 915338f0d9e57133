package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

func advises(a scheduler.Advice) scheduler.Before {
	return func(context.Context, scheduler.Proposal) (scheduler.Advice, error) { return a, nil }
}

// AR-28: the steps before run in order, each with the arguments that the previous one left, which are built again.
// Policy decides once, on the final ones.
func TestBeforeRewrites(t *testing.T) {
	s := newSetup(tools.KindEdit, policy.AskUser, bus.ProceedOnce)
	var seen []string
	before := func(args string) scheduler.Before {
		return func(_ context.Context, p scheduler.Proposal) (scheduler.Advice, error) {
			require.Equal(t, "c1", p.CallID)
			require.Equal(t, "phony", p.Requested)
			require.Equal(t, "fake", p.Spec.Name)
			seen = append(seen, string(p.Args))
			if args == "" {
				return scheduler.Advice{}, nil
			}
			return scheduler.Advice{Args: json.RawMessage(args), Source: "hook " + args}, nil
		}
	}
	s.options.Before = []scheduler.Before{before("2"), before(""), before("3")}
	r := s.call(t.Context())
	require.Equal(t, []string{`{"final":1}`, `{"final":2}`, `{"final":2}`}, seen)
	require.Equal(t, "build build build decide confirm ask execute", strings.Join(s.steps, " "))
	require.Equal(t, `{"final":3}`, string(s.decided[0].Params))
	require.Equal(t, `{"final":3}`, string(r.Params))
	require.Equal(t, `{"final":3}`, string(s.questions[0].ToolCall.Args))
	require.Equal(t, []string{
		"The arguments of this call were changed before it ran, by hook 2.",
		"The arguments of this call were changed before it ran, by hook 3.",
	}, r.Notices)
}

// Arguments from a step before are checked like those of a model.
func TestBeforeRewritesBadly(t *testing.T) {
	s := newSetup(tools.KindRead, policy.Allow, "")
	s.build = func(args json.RawMessage) error {
		if string(args) == "2" {
			return fault.New(fault.InvalidToolParams, "x", "Two is bad.", "")
		}
		return nil
	}
	s.options.Before = []scheduler.Before{advises(scheduler.Advice{Args: json.RawMessage("2"), Source: "hook"})}
	r := s.call(t.Context())
	require.Equal(t, scheduler.StatusError, r.Status)
	require.Equal(t, fault.InvalidToolParams, r.Result.Error.Code)
	require.Equal(t, "The replacement arguments of hook are invalid: Two is bad.", r.Result.Error.Message)
	require.Equal(t, "build build", strings.Join(s.steps, " "))
}

// A step before can make a decision stricter, never more permissive.
func TestBeforeTightens(t *testing.T) {
	ask, deny, allow := scheduler.Advice{Verdict: policy.AskUser, Reason: "Careful.", Source: "hook"},
		scheduler.Advice{Verdict: policy.Deny, Reason: "Never.", Source: "hook"}, scheduler.Advice{Verdict: policy.Allow}
	tests := map[string]struct {
		verdict policy.Verdict
		advice  []scheduler.Advice
		steps   string
		code    fault.Code
		rule    string
	}{
		"ask over allow":            {policy.Allow, []scheduler.Advice{ask, allow}, "build decide confirm ask execute", "", "hook"},
		"ask beside ask":            {policy.AskUser, []scheduler.Advice{ask}, "build decide confirm ask execute", "", "rule"},
		"ask under deny":            {policy.Deny, []scheduler.Advice{ask}, "build decide", fault.PolicyViolation, "rule"},
		"deny over allow":           {policy.Allow, []scheduler.Advice{deny, ask}, "build", fault.PolicyViolation, "hook"},
		"allow over deny":           {policy.Deny, []scheduler.Advice{allow}, "build decide", fault.PolicyViolation, "rule"},
		"allow over ask":            {policy.AskUser, []scheduler.Advice{allow}, "build decide confirm ask execute", "", "rule"},
		"an unknown verdict denies": {policy.Allow, []scheduler.Advice{{Verdict: "block", Source: "hook"}}, "build", fault.PolicyViolation, "hook"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tools.KindRead, tt.verdict, bus.ProceedOnce)
			decide := s.policy.decide
			s.policy.decide = func(c policy.Call) policy.Decision { d := decide(c); d.Rule = "rule"; return d }
			for _, a := range tt.advice {
				s.options.Before = append(s.options.Before, advises(a))
			}
			r := s.call(t.Context())
			require.Equal(t, tt.steps, strings.Join(s.steps, " "))
			require.Equal(t, tt.code, fault.CodeOf(asError(r)))
			require.Equal(t, tt.rule, r.Decision.Rule)
			require.NotEmpty(t, r.Decision.Reason)
		})
	}

	// Its reason reaches the user and the model.
	s := newSetup(tools.KindRead, policy.AskUser, bus.ProceedOnce)
	s.options.Before = []scheduler.Before{advises(ask), advises(scheduler.Advice{Verdict: policy.AskUser, Reason: "Twice."})}
	s.call(t.Context())
	require.Equal(t, "Careful.\nTwice.", s.questions[0].Details.SystemMessage)
	s.options.Before = []scheduler.Before{advises(deny)}
	refusal := s.call(t.Context()).Result.Error
	require.Contains(t, refusal.Remedy, "Reason: Never.")
	require.Equal(t, "The hook denied the call.", refusal.Message)

	// A request for approval repeats no text, and names who changed the arguments.
	s = newSetup(tools.KindRead, policy.Allow, bus.ProceedOnce)
	s.options.Before = []scheduler.Before{advises(ask), advises(scheduler.Advice{Args: json.RawMessage("2"), Source: "hook x", ArgsBy: "hook a, b"})}
	s.call(t.Context())
	require.Equal(t, "The arguments of the model were changed by hook a, b.\nCareful.", s.questions[0].Details.SystemMessage)
	require.Equal(t, "The hook asks for your approval.", s.questions[0].Decision.Reason)
	require.Empty(t, s.questions[0].Decision.Rule)

	// If a step asks and there is no approver, no flag is suggested.
	s.options.Before, s.answer = []scheduler.Before{advises(ask)}, nil
	s.policy.decide = func(policy.Call) policy.Decision {
		return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Allow}}
	}
	remedy := s.call(t.Context()).Result.Error.Remedy
	require.NotContains(t, remedy, "--allowed-tools")
	require.Contains(t, remedy, "Careful.")
}

// A step that fails denies the call; a panic is reported to the host with its stack.
func TestBeforeFails(t *testing.T) {
	for want, f := range map[string]scheduler.Before{
		"no luck": func(context.Context, scheduler.Proposal) (scheduler.Advice, error) {
			return scheduler.Advice{}, errors.New("no luck")
		},
		"boom": func(context.Context, scheduler.Proposal) (scheduler.Advice, error) { panic("boom") },
	} {
		s := newSetup(tools.KindRead, policy.Allow, "")
		s.options.Before = []scheduler.Before{f}
		r := s.call(t.Context())
		require.Equal(t, scheduler.StatusDenied, r.Status)
		require.Equal(t, fault.PolicyViolation, r.Result.Error.Code)
		require.Contains(t, r.Result.Error.Remedy, want)
		require.NotContains(t, r.Result.Error.Remedy, ".go:")
		require.Len(t, s.defects, 1)
		require.Equal(t, "build", strings.Join(s.steps, " "))
	}
}

// A stop also ends the batch.
func TestStop(t *testing.T) {
	s := newSetup(tools.KindEdit, policy.Allow, "")
	s.options.Before = []scheduler.Before{func(_ context.Context, p scheduler.Proposal) (scheduler.Advice, error) {
		return scheduler.Advice{Stop: p.CallID == "1", Reason: "The budget is spent.", Source: "hook"}, nil
	}}
	r := s.calls(t.Context(), batchOf("fake 1", "fake 2", "fake 3")...)
	require.Equal(t, "success denied cancelled", statuses(t, r))
	require.Equal(t, fault.StopExecution, r[1].Result.Error.Code)
	require.Equal(t, "The call of fake was stopped before it ran. The budget is spent.", r[1].Result.Error.Message)
	require.Equal(t, policy.Deny, r[1].Decision.Decision)
	require.Contains(t, r[2].Result.Error.Message, "was stopped")
}

// The steps after receive the tool's result, in order, and may add to it or make it an error.
func TestAfter(t *testing.T) {
	adds := func(text string) scheduler.After {
		return func(_ context.Context, d scheduler.Done, r tools.Result) (tools.Result, error) {
			require.Equal(t, `{"final":1}`, string(d.Args))
			require.Equal(t, scheduler.StatusSuccess, d.Status)
			r.LLMContent.Parts = append(r.LLMContent.Parts[:len(r.LLMContent.Parts):len(r.LLMContent.Parts)], tools.Part{Text: text})
			return r, nil
		}
	}
	s := newSetup(tools.KindEdit, policy.Allow, "")
	s.options.After = []scheduler.After{adds("one"), adds("two")}
	r := s.call(t.Context())
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Equal(t, "done\none\ntwo", r.Result.LLMContent.String())

	blocked := fault.New(fault.ExecutionFailed, "hook", "Blocked.", "")
	s.options.After = []scheduler.After{adds("one"), func(_ context.Context, _ scheduler.Done, r tools.Result) (tools.Result, error) {
		r.Error = blocked
		return r, nil
	}}
	r = s.call(t.Context())
	require.Equal(t, scheduler.StatusError, r.Status)
	require.Equal(t, blocked, r.Result.Error)
	require.Equal(t, "done\none", r.Result.LLMContent.String())
}

// A failure remains one, whatever a step after returns.
func TestAfterKeepsTheError(t *testing.T) {
	failed := fault.New(fault.FileNotFound, "x", "It is not there.", "")
	s := newSetup(tools.KindEdit, policy.Allow, "")
	s.run = func(context.Context, tools.Output) (tools.Result, error) { return tools.Fail(failed), nil }
	s.options.After = []scheduler.After{func(_ context.Context, d scheduler.Done, _ tools.Result) (tools.Result, error) {
		require.Equal(t, scheduler.StatusError, d.Status)
		return tools.Result{LLMContent: tools.Text("all is well")}, nil
	}}
	r := s.call(t.Context())
	require.Equal(t, scheduler.StatusError, r.Status)
	require.Equal(t, failed, r.Result.Error)
	require.Equal(t, "all is well", r.Result.LLMContent.String())
}

// If a step after fails, the call is an error. The tool's result and the reason are kept.
func TestAfterFails(t *testing.T) {
	broken := func(context.Context, scheduler.Done, tools.Result) (tools.Result, error) { panic("boom") }
	seen := 0
	counts := func(_ context.Context, _ scheduler.Done, r tools.Result) (tools.Result, error) { seen++; return r, nil }
	s := newSetup(tools.KindEdit, policy.Allow, "")
	s.options.After = []scheduler.After{broken, counts}
	r := s.call(t.Context())
	require.Equal(t, scheduler.StatusError, r.Status)
	require.Equal(t, fault.ExecutionFailed, r.Result.Error.Code)
	require.Contains(t, r.Result.Error.Message, "its effects remain")
	require.Contains(t, r.Result.Error.Message, "boom")
	require.Equal(t, "done", r.Result.LLMContent.String())
	require.Len(t, s.defects, 1)
	require.Equal(t, 1, seen, "the next one runs")

	failed := fault.New(fault.FileNotFound, "x", "It is not there.", "")
	s.run = func(context.Context, tools.Output) (tools.Result, error) { return tools.Fail(failed), nil }
	require.Equal(t, failed, s.call(t.Context()).Result.Error)
}

// The steps after run only for calls that were executed.
func TestAfterNeedsAnExecution(t *testing.T) {
	ran := 0
	after := func(_ context.Context, _ scheduler.Done, r tools.Result) (tools.Result, error) { ran++; return r, nil }
	for name, s := range map[string]*setup{
		"denied":   newSetup(tools.KindEdit, policy.Deny, ""),
		"declined": newSetup(tools.KindEdit, policy.AskUser, bus.Cancel),
	} {
		s.options.After = []scheduler.After{after}
		require.Equal(t, scheduler.StatusDenied, s.call(t.Context()).Status, name)
	}
	s := newSetup(tools.KindEdit, policy.Allow, "")
	s.options.After = []scheduler.After{after}
	s.run = func(context.Context, tools.Output) (tools.Result, error) {
		return tools.Result{}, fault.New(fault.Cancelled, "x", "Stopped.", "")
	}
	require.Equal(t, scheduler.StatusCancelled, s.call(t.Context()).Status)
	require.Zero(t, ran)
}

// AR-29: a call that has succeeded remains a success if ctx ends in a step after.
func TestCancelInAfter(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newSetup(tools.KindEdit, policy.Allow, "")
	s.options.After = []scheduler.After{func(ctx context.Context, _ scheduler.Done, _ tools.Result) (tools.Result, error) {
		cancel()
		return tools.Result{}, ctx.Err()
	}}
	r := s.call(ctx)
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Equal(t, "done", r.Result.LLMContent.String())
	require.Empty(t, s.defects)
}

// Content that a step removes for the model is also removed from the structured content.
func TestAfterAndStructured(t *testing.T) {
	for name, tt := range map[string]struct {
		after func(r *tools.Result)
		want  string
	}{
		"unchanged": {func(*tools.Result) {}, `{"secret":1}`},
		"added to": {func(r *tools.Result) {
			r.LLMContent.Parts = append(r.LLMContent.Parts[:1:1], tools.Part{Text: "more"})
		}, `{"secret":1}`},
		"changed":      {func(r *tools.Result) { r.LLMContent = tools.Text("masked") }, ""},
		"taken out":    {func(r *tools.Result) { r.LLMContent = tools.Content{} }, ""},
		"both changed": {func(r *tools.Result) { r.LLMContent, r.Structured = tools.Text("masked"), []byte(`{}`) }, `{}`},
		"failed":       {func(r *tools.Result) { *r = r.WithError(fault.New(fault.ExecutionFailed, "", "No.", "")) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tools.KindRead, policy.Allow, "")
			s.run = func(context.Context, tools.Output) (tools.Result, error) {
				return tools.Result{LLMContent: tools.Text("secret 1"), Structured: []byte(`{"secret":1}`)}, nil
			}
			s.options.After = []scheduler.After{func(_ context.Context, _ scheduler.Done, r tools.Result) (tools.Result, error) {
				tt.after(&r)
				return r, nil
			}}
			require.Equal(t, tt.want, string(s.call(t.Context()).Result.Structured))
		})
	}
}

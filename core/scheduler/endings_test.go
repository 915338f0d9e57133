package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// AR-29: a context that ends at any stage results in one response with status cancelled, and no later stage begins.
func TestCancel(t *testing.T) {
	for _, stage := range []string{"before", "build", "before-tool step", "decide", "checker", "confirm", "ask", "execute", "execute, with a fault"} {
		t.Run(stage, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			stop := func(at string) {
				if at == stage {
					cancel(errors.New("user pressed ^C"))
				}
			}
			s := newSetup(tools.KindEdit, policy.AskUser, bus.ProceedOnce)
			s.build = func(json.RawMessage) error { stop("build"); return nil }
			decide := s.policy.decide
			s.policy.decide = func(c policy.Call) policy.Decision {
				stop("decide")
				d := decide(c)
				d.Checkers = []policy.Checker{{Name: "c"}}
				return d
			}
			s.confirm = func(context.Context) (*tools.Confirmation, error) { stop("confirm"); return nil, ctx.Err() }
			s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
				stop("ask")
				return answerWith(bus.ProceedOnce)
			}
			s.options.Before = []scheduler.Before{func(context.Context, scheduler.Proposal) (scheduler.Advice, error) {
				stop("before-tool step")
				return scheduler.Advice{}, nil
			}}
			s.options.Check = func(context.Context, policy.Checker, policy.Call) (policy.Verdict, string, error) {
				stop("checker")
				return policy.Allow, "", nil
			}
			s.run = func(ctx context.Context, _ tools.Output) (tools.Result, error) {
				if stop("execute"); ctx.Err() != nil {
					return tools.Result{LLMContent: tools.Text("half")}, ctx.Err()
				}
				stop("execute, with a fault")
				return tools.Fail(fault.New(fault.Cancelled, "x", "Stopped half way.", "")), nil
			}
			stop("before")
			r := s.call(ctx)
			require.Equal(t, scheduler.StatusCancelled, r.Status)
			require.Equal(t, fault.Cancelled, r.Result.Error.Code)
			require.NotEmpty(t, r.Result.LLMContent.String())
			require.Empty(t, s.defects)
			switch stage {
			case "execute":
				require.Equal(t, "half", r.Result.LLMContent.String())
				require.ErrorContains(t, r.Result.Error, "user pressed ^C")
			case "execute, with a fault":
				require.Equal(t, "Stopped half way.", r.Result.Error.Message)
			default:
				require.NotContains(t, s.steps, "execute")
			}
		})
	}
}

// A call that succeeded is not reported as cancelled, because its effects remain; neither is one that failed for
// another reason.
func TestCancelTooLate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newSetup(tools.KindEdit, policy.Allow, "")
	s.run = func(context.Context, tools.Output) (tools.Result, error) {
		cancel()
		return tools.Result{LLMContent: tools.Text("written")}, nil
	}
	require.Equal(t, scheduler.StatusSuccess, s.call(ctx).Status)

	ctx, cancel = context.WithCancel(t.Context())
	s.run = func(context.Context, tools.Output) (tools.Result, error) {
		cancel()
		return tools.Fail(fault.New(fault.NoSpaceLeft, "x", "Full.", "")), nil
	}
	require.Equal(t, fault.NoSpaceLeft, s.call(ctx).Result.Error.Code)
}

// A timeout of the tool is not a cancellation.
func TestOwnTimeoutIsAnError(t *testing.T) {
	s := newSetup(tools.KindFetch, policy.Allow, "")
	s.run = func(context.Context, tools.Output) (tools.Result, error) {
		return tools.Result{}, context.DeadlineExceeded
	}
	r := s.call(t.Context())
	require.Equal(t, scheduler.StatusError, r.Status)
	require.Equal(t, fault.UnhandledException, r.Result.Error.Code)
}

// A panic anywhere results in one response without the stack, which the host receives.
func TestPanics(t *testing.T) {
	tests := map[string]func(*setup){
		"build":   func(s *setup) { s.build = func(json.RawMessage) error { panic("boom") } },
		"confirm": func(s *setup) { s.confirm = func(context.Context) (*tools.Confirmation, error) { panic("boom") } },
		"execute": func(s *setup) {
			s.run = func(context.Context, tools.Output) (tools.Result, error) { panic("boom") }
		},
		"decide": func(s *setup) { s.policy.decide = func(policy.Call) policy.Decision { panic("boom") } },
		"mode":   func(s *setup) { s.options.Mode = func() policy.ApprovalMode { panic("boom") } },
		"lookup": func(s *setup) { s.options.Tools = panickingTools{} },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tools.KindEdit, policy.AskUser, bus.ProceedOnce)
			change(s)
			r := s.call(t.Context())
			require.Equal(t, scheduler.StatusError, r.Status)
			require.Equal(t, fault.UnhandledException, r.Result.Error.Code)
			require.Contains(t, r.Result.Error.Message, "boom")
			require.NotContains(t, string(r.Result.FunctionResponse()), "endings_test.go")
			require.Len(t, s.defects, 1)
			require.ErrorContains(t, s.defects[0], "endings_test.go")
			if name != "execute" {
				require.NotContains(t, s.steps, "execute")
			}
		})
	}
}

type panickingTools struct{}

func (panickingTools) Lookup(string) (tools.DeclarativeTool, error) { panic("boom") }

// A tool that returns neither an invocation nor an error has a defect.
func TestNilInvocation(t *testing.T) {
	s := newSetup(tools.KindRead, policy.Allow, "")
	s.options.Tools = nilBuilder{s.fake}
	r := s.call(t.Context())
	require.Equal(t, fault.UnhandledException, r.Result.Error.Code)
	require.Len(t, s.defects, 1)
}

type nilBuilder struct{ *fake }

func (n nilBuilder) Lookup(string) (tools.DeclarativeTool, error)      { return n, nil }
func (nilBuilder) Build(json.RawMessage) (tools.ToolInvocation, error) { return nil, nil }

// FS-43: success after an announced refusal is reported to the host, and its content is not passed on as a success.
func TestAnnouncedRefusalThatSucceeds(t *testing.T) {
	s := newSetup(tools.KindEdit, policy.AskUser, bus.ProceedOnce)
	s.confirm = func(context.Context) (*tools.Confirmation, error) { return nil, tools.ErrWillRefuse }
	r := s.call(t.Context())
	require.Equal(t, fault.UnhandledException, r.Result.Error.Code)
	require.NotContains(t, r.Result.LLMContent.String(), "done")
	require.Len(t, s.defects, 1)
	require.ErrorContains(t, s.defects[0], "announced a refusal")
}

// PR-22: an untyped error becomes unhandled_exception and is reported to the host. The content of the result is kept
// for the model.
func TestUntypedError(t *testing.T) {
	untyped := errors.New("broken pipe")
	s := newSetup(tools.KindRead, policy.Allow, "")
	s.run = func(context.Context, tools.Output) (tools.Result, error) {
		return tools.Result{LLMContent: tools.Text("so far")}, untyped
	}
	r := s.call(t.Context())
	require.Equal(t, fault.UnhandledException, r.Result.Error.Code)
	require.Contains(t, r.Result.Error.Message, "broken pipe")
	require.Equal(t, "so far", r.Result.LLMContent.String())
	require.Len(t, s.defects, 1)
	require.ErrorIs(t, s.defects[0], untyped)

	s.run = func(context.Context, tools.Output) (tools.Result, error) {
		return tools.Fail(fault.New(fault.NoSpaceLeft, "x", "Full.", "")), untyped
	}
	require.Equal(t, fault.NoSpaceLeft, s.call(t.Context()).Result.Error.Code)
	require.Len(t, s.defects, 2)
}

// Live output is sent under the ID of the call, and ends with the execution.
func TestOutput(t *testing.T) {
	var late tools.Output
	s := newSetup(tools.KindRead, policy.Allow, "")
	s.run = func(_ context.Context, out tools.Output) (tools.Result, error) {
		out.Write("one")
		out.Write("two")
		late = out
		return tools.Result{}, nil
	}
	b := bus.New(bus.Options{})
	var got []string
	reported := make(chan struct{})
	bus.SubscribeAll(t.Context(), b, func(_ context.Context, m bus.Message) {
		switch m := m.(type) {
		case bus.ToolOutput:
			got = append(got, m.CallID+" "+m.Chunk)
		case bus.SubagentActivity:
			close(reported)
		}
	})
	s.options.Bus = b
	scheduler.New(s.options).Run(t.Context(), scheduler.Request{CallID: "c1", Tool: "fake", Args: json.RawMessage("1")})
	late.Write("three")
	require.NoError(t, b.Publish(bus.SubagentActivity{}))
	<-reported
	require.NoError(t, b.Close())
	require.Equal(t, []string{"c1 one", "c1 two"}, got)

	require.Equal(t, scheduler.StatusSuccess, s.call(t.Context()).Status)
	late.Write("no subscriber")
	s.options.Bus = nil
	scheduler.New(s.options).Run(t.Context(), scheduler.Request{Tool: "fake", Args: json.RawMessage("1")})
	late.Write("no bus")
	require.Empty(t, s.defects)
}

// A response is returned even if OnDefect panics.
func TestDefectReportPanics(t *testing.T) {
	s := newSetup(tools.KindRead, policy.Allow, "")
	s.run = func(context.Context, tools.Output) (tools.Result, error) { panic("boom") }
	s.options.OnDefect = func(error) { panic("in the report") }
	require.Equal(t, fault.UnhandledException, s.call(t.Context()).Result.Error.Code)
}

func TestNewPanicsWithoutTools(t *testing.T) {
	require.Panics(t, func() { scheduler.New(scheduler.Options{}) })
}

// The zero options decide by kind in default mode, without an approver.
func TestZeroOptions(t *testing.T) {
	s := scheduler.New(scheduler.Options{Tools: &fake{kind: tools.KindRead}})
	require.Equal(t, scheduler.StatusSuccess, s.Run(t.Context(), scheduler.Request{Tool: "fake", Args: json.RawMessage("1")}).Status)
	s = scheduler.New(scheduler.Options{Tools: &fake{kind: tools.KindEdit}})
	r := s.Run(t.Context(), scheduler.Request{Tool: "fake", Args: json.RawMessage("1")})
	require.Equal(t, fault.NoApprover, r.Result.Error.Code)
	s = scheduler.New(scheduler.Options{Tools: &fake{kind: tools.KindEdit, run: func(context.Context, tools.Output) (tools.Result, error) {
		panic("boom")
	}}, Policy: &stub{decide: func(policy.Call) policy.Decision {
		return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Allow}}
	}}})
	r = s.Run(t.Context(), scheduler.Request{Tool: "fake", Args: json.RawMessage("1")})
	require.Equal(t, fault.UnhandledException, r.Result.Error.Code)
}

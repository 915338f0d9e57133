package scheduler_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// CM-15: Executing is called after the user's answer, and its returned function after any end of the call.
func TestExecutingIsBetweenTheAnswerAndTheCall(t *testing.T) {
	ends := map[string]struct {
		run    func(ctx context.Context, out tools.Output) (tools.Result, error)
		status scheduler.Status
	}{
		"success": {nil, scheduler.StatusSuccess},
		"failure": {func(context.Context, tools.Output) (tools.Result, error) {
			return tools.Fail(fault.New(fault.FileNotFound, "x", "No.", "")), nil
		}, scheduler.StatusError},
		"panic": {func(context.Context, tools.Output) (tools.Result, error) { panic("no") }, scheduler.StatusError},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tools.KindEdit, policy.AskUser, bus.ProceedOnce)
			s.run = end.run
			s.options.Executing = func(_ context.Context, p scheduler.Proposal, inv tools.ToolInvocation) (func(context.Context) []string, error) {
				require.Equal(t, "c1", p.CallID)
				require.Equal(t, "fakes something", inv.Description())
				require.Len(t, s.questions, 1, "the user has answered")
				s.steps = append(s.steps, "before")
				return func(context.Context) []string {
					s.steps = append(s.steps, "after")
					return []string{"noted"}
				}, nil
			}
			resp := s.call(t.Context())
			require.Equal(t, end.status, resp.Status)
			require.Equal(t, []string{"build", "decide", "confirm", "ask", "before", "execute", "after"}, s.steps)
			if name != "panic" { // a panic is reported without notices
				require.Equal(t, []string{"noted"}, resp.Notices)
			}
		})
	}
}

// CM-15: an error of Executing prevents the call.
func TestExecutingCanRefuse(t *testing.T) {
	for name, executing := range map[string]scheduler.Executing{
		"fault": func(context.Context, scheduler.Proposal, tools.ToolInvocation) (func(context.Context) []string, error) {
			return nil, fault.New(fault.NoSpaceLeft, "x", "Full.", "")
		},
		"panic": func(context.Context, scheduler.Proposal, tools.ToolInvocation) (func(context.Context) []string, error) {
			panic(errors.New("no"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tools.KindEdit, policy.Allow, "")
			s.options.Executing = executing
			resp := s.call(t.Context())
			require.Equal(t, scheduler.StatusError, resp.Status)
			require.NotContains(t, s.steps, "execute")
		})
	}
}

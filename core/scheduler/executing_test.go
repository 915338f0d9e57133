package scheduler_test

import (
	"context"
	"errors"
	"fmt"
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
			s.options.Executing = func(_ context.Context, p scheduler.Proposal, inv tools.ToolInvocation) (func(context.Context, bool) []string, error) {
				require.Equal(t, "c1", p.CallID)
				require.Equal(t, "fakes something", inv.Description())
				require.Len(t, s.questions, 1, "the user has answered")
				s.steps = append(s.steps, "before")
				return func(_ context.Context, again bool) []string {
					require.False(t, again)
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

// ST-05: if the call must be confirmed again, the returned function is called with again, and Executing before the
// next attempt.
func TestExecutingAgain(t *testing.T) {
	s := newSetup(tools.KindEdit, policy.Allow, "")
	runs := 0
	s.run = func(context.Context, tools.Output) (tools.Result, error) {
		if runs++; runs == 1 {
			return tools.Result{}, tools.ErrConfirmAgain
		}
		return tools.Result{}, nil
	}
	s.options.Executing = func(context.Context, scheduler.Proposal, tools.ToolInvocation) (func(context.Context, bool) []string, error) {
		return func(_ context.Context, again bool) []string { return []string{fmt.Sprint(runs, again)} }, nil
	}
	resp := s.call(t.Context())
	require.Equal(t, scheduler.StatusSuccess, resp.Status)
	require.Equal(t, []string{"1 true", "2 false"}, resp.Notices)
}

// CM-15: an error of Executing prevents the call.
func TestExecutingCanRefuse(t *testing.T) {
	for name, executing := range map[string]scheduler.Executing{
		"fault": func(context.Context, scheduler.Proposal, tools.ToolInvocation) (func(context.Context, bool) []string, error) {
			return nil, fault.New(fault.NoSpaceLeft, "x", "Full.", "")
		},
		"panic": func(context.Context, scheduler.Proposal, tools.ToolInvocation) (func(context.Context, bool) []string, error) {
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

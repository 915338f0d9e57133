package config_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// Functions that run right before a call run in order, and end in reverse order. An
// error of one keeps the call from running, and ends the earlier ones.
func TestExecuting(t *testing.T) {
	var order []string
	var refuse error
	step := func(name string) scheduler.Executing {
		return func(_ context.Context, p scheduler.Proposal, inv tools.ToolInvocation) (func(context.Context, bool) []string, error) {
			order = append(order, name+" "+p.Spec.Name)
			require.Len(t, inv.Locations(), 1)
			if name == "second" && refuse != nil {
				return nil, refuse
			}
			return func(context.Context, bool) []string {
				order = append(order, "end of "+name)
				return []string{"a notice of " + name}
			}, nil
		}
	}
	s := configtest.New(t, func(p *config.Parameters) {
		p.Calls.Executing = []scheduler.Executing{step("first"), step("second")}
	})
	s.Write("f.txt", "one\n")
	r := s.Call("read_file", map[string]any{"file_path": "f.txt"})
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Equal(t, []string{"first read_file", "second read_file", "end of second", "end of first"}, order)
	require.Equal(t, []string{"a notice of second", "a notice of first"}, r.Notices)

	order, refuse = nil, fault.New(fault.FileChangedSinceRead, "test", "Not now.", "Wait.")
	r = s.Call("read_file", map[string]any{"file_path": "f.txt"})
	require.True(t, errors.Is(r.Result.Error, &fault.Error{Code: fault.FileChangedSinceRead}), r.Result.Error)
	require.Equal(t, []string{"first read_file", "second read_file", "end of first"}, order)
}

package integration_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// shelfParams are the arguments of a tool that reads or changes.
type shelfParams struct {
	Action string `json:"action" jsonschema:"enum=list,enum=clear"`
}

// FD-06: a call that the tool declares harmless needs no approval, in plan mode too. The others ask.
func TestHarmlessCalls(t *testing.T) {
	t.Parallel()
	ran := map[string]int{}
	shelf, err := tools.Define("shelf", "Lists or clears the shelf.", tools.KindExecute,
		func(_ context.Context, p shelfParams) (tools.Result, error) {
			ran[p.Action]++
			return tools.Result{LLMContent: tools.Text("done")}, nil
		},
		tools.WithSpec(func(s *tools.Spec) { s.Effects = []tools.Effect{tools.EffectWriteFiles} }),
		tools.WithHarmless(func(p shelfParams) bool { return p.Action == "list" }))
	require.NoError(t, err)
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Own = []tools.DeclarativeTool{shelf} })
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }
	require.Equal(t, scheduler.StatusSuccess, s.Call("shelf", shelfParams{"list"}).Status)
	require.Empty(t, s.Confirmations())
	require.Equal(t, scheduler.StatusDenied, s.Call("shelf", shelfParams{"clear"}).Status)
	require.Len(t, s.Confirmations(), 1)
	require.NoError(t, s.SetApprovalMode(policy.ModePlan))
	require.False(t, s.Call("shelf", shelfParams{"list"}).Preview)
	s.Call("shelf", shelfParams{"clear"})
	require.Equal(t, map[string]int{"list": 2}, ran)

	_, err = tools.Define("shelf", "Lists the shelf.", tools.KindExecute,
		func(context.Context, shelfParams) (tools.Result, error) { return tools.Result{}, nil },
		tools.WithHarmless(func(struct{}) bool { return true }))
	require.ErrorContains(t, err, "WithHarmless")
}

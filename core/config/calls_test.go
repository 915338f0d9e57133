package config_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// A loop of the embedder's own declares the current tools, with schemas that the
// provider accepts.
func TestDeclarations(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.Exclude = []string{"run_shell_command"}
		p.Tools.DeferSchemasAbove = 1
		p.Tools.Own = served(t, "srv", 3)
	})
	names := func(d model.Dialect) (names []string) {
		declared, err := s.Declarations(d)
		require.NoError(t, err)
		for _, tool := range declared {
			names = append(names, tool.Name)
			adapted, err := model.AdaptSchema(tool.Parameters, d)
			require.NoError(t, err)
			require.JSONEq(t, string(adapted), string(tool.Parameters), "%s is adapted to %s", tool.Name, d)
		}
		return names
	}
	registry, err := s.ToolRegistry()
	require.NoError(t, err)
	var want []string
	for _, d := range registry.Declarations() {
		want = append(want, d.Name)
	}
	for _, d := range []model.Dialect{model.DialectGemini, model.DialectOpenAI, model.DialectAnthropic} {
		require.Equal(t, want, names(d))
	}
	require.Contains(t, want, "read_file")
	require.Contains(t, want, "tool_search")
	require.NotContains(t, want, "run_shell_command", "it is excluded")
	require.NotContains(t, want, "srv_thing_001", "it is held back")

	_, _, err = s.RunCalls(t.Context(), []model.FunctionCall{{ID: "1", Name: "srv_thing_001", Args: json.RawMessage(`{}`)}})
	require.NoError(t, err)
	require.Contains(t, names(model.DialectOpenAI), "srv_thing_001", "it was called")

	require.NotContains(t, want, "exit_plan_mode")
	require.NoError(t, s.SetApprovalMode(policy.ModePlan))
	require.Contains(t, names(model.DialectOpenAI), "exit_plan_mode")
}

// A tool that no provider accepts is reported by name, not silently omitted.
func TestDeclarationsOfUnusableTools(t *testing.T) {
	odd, err := tools.Define("odd.name", "Has a name that providers refuse.", tools.KindThink, func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{}, nil
	})
	require.NoError(t, err)
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Own = []tools.DeclarativeTool{odd} })
	_, err = s.Declarations(model.DialectOpenAI)
	refused := new(model.Error)
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Message, "odd.name")
}

// The calls of one answer are one batch: in order, answered one by one, and ended
// by a denial of the user.
func TestRunCalls(t *testing.T) {
	picture := tools.Data("a picture", "image/png", []byte{1, 2})
	show, err := tools.Define("show", "Shows a picture.", tools.KindThink, func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{LLMContent: picture}, nil
	})
	require.NoError(t, err)
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Own = []tools.DeclarativeTool{show} })
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }
	answers, responses, err := s.RunCalls(t.Context(), []model.FunctionCall{
		{ID: "1", Name: "show"},
		{ID: "2", Name: "no_such_tool", Args: json.RawMessage(`{}`)},
		{ID: "3", Name: "write_file", Args: json.RawMessage(`{"file_path": "f", "content": "x"}`)},
		{ID: "4", Name: "write_file", Args: json.RawMessage(`{"file_path": "g", "content": "x"}`)},
	})
	require.NoError(t, err)
	var statuses []scheduler.Status
	for i, r := range responses {
		statuses = append(statuses, r.Status)
		require.Equal(t, r.CallID, answers[i].ID)
		require.JSONEq(t, string(r.FunctionResponse()), string(answers[i].Response))
	}
	require.Equal(t, []scheduler.Status{scheduler.StatusSuccess, scheduler.StatusError, scheduler.StatusDenied, scheduler.StatusCancelled}, statuses)
	require.Equal(t, []model.Data{{MIMEType: "image/png", Bytes: []byte{1, 2}}}, answers[0].Data)
	require.Equal(t, "write_file", answers[2].Name)
	require.False(t, slices.ContainsFunc(answers[1:], func(a model.FunctionResponse) bool { return a.Data != nil }))

	require.NoError(t, s.Close())
	_, _, err = s.RunCalls(t.Context(), nil)
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
	_, err = s.Declarations(model.DialectOpenAI)
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
}

package subagent_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// A failure is an error of the call that explains it.
func TestFailures(t *testing.T) {
	failed := &model.Error{Provider: "fake", Kind: model.Unauthenticated, Status: 401, Message: "no key"}
	tests := map[string]struct {
		set  func(h *host, d *subagent.Definition)
		want string
	}{
		"model": {func(h *host, _ *subagent.Definition) {
			h.models = func(*subagent.Definition) *generator { return inOrder(answer{err: failed}) }
		}, "no key"},
		"prompt": {func(_ *host, d *subagent.Definition) { d.Prompt = "${nothing}" }, "${nothing}"},
		"query":  {func(_ *host, d *subagent.Definition) { d.Query = "${nothing}" }, "${nothing}"},
		"message": {func(_ *host, d *subagent.Definition) {
			d.InitialMessages = []model.Content{model.UserText("${nothing}")}
		}, "${nothing}"},
		"no session": {func(h *host, _ *subagent.Definition) { h.tools = []tools.DeclarativeTool{nil} }, "is invalid"},
		"no parts":   {func(h *host, _ *subagent.Definition) { h.set = func(s *subagent.Session) { s.Agent.Source = nil } }, "could not be started"},
		"loop": {func(h *host, d *subagent.Definition) {
			h.models = func(*subagent.Definition) *generator { return inOrder(calls("read_file", `{}`)) }
			d.MaxTurns = 1000
		}, "were repeated"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h, d := newHost(inOrder(completes("x")), tool(t, "read_file", tools.KindRead)), worker()
			tt.set(h, &d)
			r, err := execute(t.Context(), t, h, d)
			require.NoError(t, err)
			require.NotNil(t, r.Error)
			require.Equal(t, fault.AgentFailed, r.Error.Code)
			require.Contains(t, r.Error.Message, tt.want)
			require.Contains(t, r.LLMContent.String(), "Termination reason: ERROR\n")
		})
	}
}

func TestInvalidDefinitions(t *testing.T) {
	runner := subagent.NewRunner(subagent.Options{Host: noHost{}})
	for want, change := range map[string]func(d *subagent.Definition){
		"that of a tool":        func(d *subagent.Definition) { d.Name = "complete_task" },
		"characters other than": func(d *subagent.Definition) { d.Name = "A b" },
		"no description":        func(d *subagent.Definition) { d.Description = " " },
		"no prompt":             func(d *subagent.Definition) { d.Prompt = "" },
		"it is remote":          func(d *subagent.Definition) { d.Kind = subagent.KindRemote },
		"lacks a name":          func(d *subagent.Definition) { d.Output = &subagent.Output{} },
		"not a JSON object": func(d *subagent.Definition) {
			d.Output = &subagent.Output{Name: "a", Description: "d", Schema: json.RawMessage(`7`)}
		},
		"schema": func(d *subagent.Definition) {
			d.Input = json.RawMessage(`{"type":"object","properties":{"a":{"type":"nope"}}}`)
		},
	} {
		_, err := runner.Tool(worker(change))
		require.ErrorContains(t, err, want)
		require.True(t, errors.Is(err, &fault.Error{Code: fault.InvalidConfig}), want)
	}
	_, err := runner.Run(t.Context(), worker(), json.RawMessage(`{}`))
	require.True(t, errors.Is(err, &fault.Error{Code: fault.InvalidToolParams}))
	require.Panics(t, func() { subagent.NewRunner(subagent.Options{}) })
}

// EX-14: agents do not call agents unless allowed, and then only to the depth limit.
func TestNoRecursion(t *testing.T) {
	for depth, want := range map[int]int{1: 1, 2: 2, 3: 3} {
		g := &generator{}
		h := newHost(g)
		runner := subagent.NewRunner(subagent.Options{Host: h, Depth: depth})
		self, err := runner.Tool(worker())
		require.NoError(t, err)
		h.tools = []tools.DeclarativeTool{self}
		g.answer = func(_ int, r *model.Request) answer {
			if len(r.Contents) > 1 {
				return completes("back with " + responsesIn(*r))
			}
			return calls("worker", `{"query":"deeper"}`)
		}
		o, err := runner.Run(t.Context(), worker(), json.RawMessage(`{"query":"go"}`))
		require.NoError(t, err)
		require.Equal(t, subagent.Goal, o.Reason)
		require.Equal(t, want, h.begun)
		require.Contains(t, o.Text, "Unauthorized")
		for i, r := range g.asked()[:want] {
			require.Equal(t, i+1 < want, len(declared(r)) == 2, declared(r))
		}
	}
}

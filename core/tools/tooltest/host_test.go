package tooltest_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

// answering is a host that answers every question.
type answering struct{}

func (answering) Progress(host.Progress) {}
func (answering) Log(host.LogEntry)      {}
func (answering) Ask(_ context.Context, questions ...host.Question) ([]host.Reply, error) {
	return make([]host.Reply, len(questions)), nil
}

// Messages and questions of a tool to its host are checked.
func TestHost(t *testing.T) {
	elicit := func(e host.Elicitation) func(context.Context, host.Host) {
		return func(ctx context.Context, h host.Host) { _, _ = h.Ask(ctx, host.Question{Elicit: &e}) }
	}
	sample := func(s host.Sampling) func(context.Context, host.Host) {
		return func(ctx context.Context, h host.Host) { _, _ = h.Ask(ctx, host.Question{Sample: &s}) }
	}
	user := []host.Message{{Role: host.RoleUser, Content: tools.Text("x")}}
	for name, tt := range map[string]struct {
		run  func(ctx context.Context, h host.Host)
		want string
	}{
		"good": {func(ctx context.Context, h host.Host) {
			h.Progress(host.Progress{})
			h.Progress(host.Progress{Done: 1, Total: 1})
			h.Log(host.LogEntry{Level: host.LogInfo, Data: json.RawMessage(`"x"`)})
			_, _ = h.Ask(ctx, host.Question{Roots: &host.RootsQuestion{}}, host.Question{Elicit: &host.Elicitation{Message: "Sure?"}},
				host.Question{Elicit: &host.Elicitation{Message: "Which?", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}},
				host.Question{Sample: &host.Sampling{MaxTokens: 1, Messages: user}})
		}, ""},
		"progress stands": {func(_ context.Context, h host.Host) {
			h.Progress(host.Progress{Done: 1})
			h.Progress(host.Progress{Done: 1})
		}, "reports progress 1 after 1"},
		"more than the total": {func(_ context.Context, h host.Host) { h.Progress(host.Progress{Done: 2, Total: 1}) }, "reports progress 2 of 1"},
		"level": {func(_ context.Context, h host.Host) {
			h.Log(host.LogEntry{Level: "loud", Data: json.RawMessage(`1`)})
		}, `the invalid level "loud"`},
		"data":           {func(_ context.Context, h host.Host) { h.Log(host.LogEntry{Level: host.LogInfo}) }, "invalid JSON"},
		"nothing":        {func(ctx context.Context, h host.Host) { _, _ = h.Ask(ctx) }, "asks nothing"},
		"empty question": {func(ctx context.Context, h host.Host) { _, _ = h.Ask(ctx, host.Question{}) }, "0 fields set"},
		"two fields": {func(ctx context.Context, h host.Host) {
			_, _ = h.Ask(ctx, host.Question{Roots: &host.RootsQuestion{}, Elicit: &host.Elicitation{Message: "x"}})
		}, "2 fields set"},
		"no message":       {elicit(host.Elicitation{}), "without a message"},
		"page and form":    {elicit(host.Elicitation{Message: "x", URL: "https://a.example", Schema: json.RawMessage(`{"type":"object"}`)}), "in one question"},
		"schema":           {elicit(host.Elicitation{Message: "x", Schema: json.RawMessage(`{`)}), "is invalid"},
		"schema of a list": {elicit(host.Elicitation{Message: "x", Schema: json.RawMessage(`{"properties":{}}`)}), `not "object"`},
		"nested":           {elicit(host.Elicitation{Message: "x", Schema: json.RawMessage(`{"type":"object","properties":{"o":{"type":"object"}}}`)}), `for "o" of the type "object"`},
		"no limit":         {sample(host.Sampling{Messages: user}), "without MaxTokens"},
		"no messages":      {sample(host.Sampling{MaxTokens: 1}), "asks the model without a message"},
		"role":             {sample(host.Sampling{MaxTokens: 1, Messages: []host.Message{{Role: "system"}}}), `the invalid role "system"`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, h := range []host.Host{nil, answering{}} {
				got := failuresOf(t, broken(t, tools.KindRead, func(i *invocation) {
					i.run = func(ctx context.Context, _ tools.Output) (tools.Result, error) {
						tt.run(ctx, host.FromContext(ctx))
						return tools.Result{}, ctx.Err()
					}
				}), tooltest.Cases{Examples: examples[:1], Mutations: -1, Host: h})
				if tt.want == "" {
					require.Empty(t, got)
				} else {
					require.Contains(t, got, tt.want)
				}
			}
		})
	}
}

// A tool receives the host of the cases.
func TestHostOfCases(t *testing.T) {
	tool := broken(t, tools.KindRead, func(i *invocation) {
		i.run = func(ctx context.Context, _ tools.Output) (tools.Result, error) {
			if _, err := host.FromContext(ctx).Ask(ctx, host.Question{Roots: &host.RootsQuestion{}}); err != nil {
				return tools.Fail(fault.As(err)), nil
			}
			return tools.Result{LLMContent: tools.Text("done")}, ctx.Err()
		}
	})
	require.Empty(t, failuresOf(t, tool, tooltest.Cases{Examples: examples[:1], Host: answering{}}))
	require.Contains(t, failuresOf(t, tool, tooltest.Cases{Examples: examples[:1]}), string(fault.NoApprover))
}

// Actions after a call has returned are reported.
func TestLate(t *testing.T) {
	for name, tt := range map[string]struct {
		late func(h host.Host, out tools.Output)
		want string
	}{
		"progress": {func(h host.Host, _ tools.Output) { h.Progress(host.Progress{}) }, "reports progress after Execute has returned, 1 times"},
		"log":      {func(h host.Host, _ tools.Output) { h.Log(host.LogEntry{}) }, "logs after"},
		"question": {func(h host.Host, _ tools.Output) { _, _ = h.Ask(t.Context()) }, "asks after"},
		"output":   {func(_ host.Host, out tools.Output) { out.Write("x") }, "sends live output after"},
	} {
		t.Run(name, func(t *testing.T) {
			var kept func()
			tool := broken(t, tools.KindRead, func(i *invocation) {
				i.run = func(ctx context.Context, out tools.Output) (tools.Result, error) {
					if kept != nil { // of the previous call, which has returned
						kept()
						kept = func() {}
						return tools.Result{}, ctx.Err()
					}
					h := host.FromContext(ctx)
					kept = func() { tt.late(h, out) }
					return tools.Result{}, nil
				}
			})
			tool.spec.StreamsOutput = true
			require.Contains(t, failuresOf(t, tool, tooltest.Cases{Examples: examples, Mutations: -1}), tt.want)
		})
	}
}

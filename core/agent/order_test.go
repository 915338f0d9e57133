package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// trace records steps in order.
type trace struct{ steps []string }

func (tr *trace) add(step string) { tr.steps = append(tr.steps, step) }

func (tr *trace) Prompt(ctx context.Context, p agent.PromptInfo) (context.Context, func(agent.PromptEnd)) {
	tr.add("prompt begins")
	return ctx, func(e agent.PromptEnd) {
		tr.add(fmt.Sprintf("prompt ends: %d turns, %d calls, %q, %v", e.Turns, e.Calls, e.Text, e.Err))
	}
}

func (tr *trace) Request(ctx context.Context, r agent.RequestInfo) (context.Context, func(agent.RequestEnd)) {
	tr.add(fmt.Sprintf("request, attempt %d, of %d turns", r.Attempt, len(r.Request.Contents)))
	return ctx, func(e agent.RequestEnd) { tr.add("answer " + e.Response.Content.Text()) }
}

func (tr *trace) Compaction(ctx context.Context, forced bool) (context.Context, func(agent.Compaction, error)) {
	tr.add(fmt.Sprint("compaction, forced ", forced))
	return ctx, func(c agent.Compaction, err error) { tr.add(fmt.Sprint("compaction ends ", c.Status, err)) }
}

// AR-31: the order of one prompt.
func TestOrder(t *testing.T) {
	tr := &trace{}
	g := inOrder(asks(call("1", "look", "")))
	c := newClient(t, g, func(o *agent.Options) {
		o.Observer = tr
		o.System = func(context.Context) (string, error) { tr.add("system"); return "", nil }
		o.Reminders = func(context.Context) ([]model.Part, error) { tr.add("reminders"); return nil, nil }
		o.Tools = func() []model.Tool { tr.add("tools"); return nil }
		o.Scheduler = &runner{run: func(context.Context, scheduler.Request) tools.Result { tr.add("call"); return tools.Result{} }}
		o.Steps = agent.Steps{
			BeforePrompt: []agent.BeforePrompt{func(context.Context, []model.Part) (agent.PromptAdvice, error) {
				tr.add("before prompt")
				return agent.PromptAdvice{Context: []model.Part{text("(context)")}}, nil
			}},
			BeforeRequest: []agent.BeforeRequest{func(context.Context, *model.Request) (agent.RequestAdvice, error) {
				tr.add("before request")
				return agent.RequestAdvice{}, nil
			}},
			AfterPrompt: []agent.AfterPrompt{func(_ context.Context, _ []model.Part, answer string, _ bool) (agent.PromptAdvice, error) {
				tr.add("after prompt: " + strings.ReplaceAll(answer, "\n", " / "))
				return agent.PromptAdvice{}, nil
			}},
		}
	})
	for e := range c.Run(t.Context(), text("Do it.")) {
		tr.add("event " + string(e.Type))
	}
	require.Equal(t, []string{
		"prompt begins", "before prompt",
		"reminders", "system", "tools", "event model_info", "before request", "request, attempt 1, of 1 turns",
		"event text", "answer I look.", "event tool_call", "event finished",
		"call", "reminders", "event tool_call_response",
		"system", "tools", "before request", "request, attempt 1, of 3 turns", "event text", "answer Done.", "event finished",
		"after prompt: I look. / Done.", `prompt ends: 2 turns, 1 calls, "Done.", <nil>`, "event done",
	}, tr.steps)
	require.Equal(t, "user: Do it. (context)", outline(c.History())[0])
}

// FT-15: a new instruction is in the system prompt of the next and of later requests, and not in
// the history.
func TestSystemChanges(t *testing.T) {
	system := "Base."
	g := inOrder(asks(call("1", "look", "")), asks(call("2", "look", "")))
	c := newClient(t, g, func(o *agent.Options) {
		o.System = func(context.Context) (string, error) { return system, nil }
		o.Scheduler = &runner{run: func(context.Context, scheduler.Request) tools.Result {
			system = "Base. Rules of dir/."
			return tools.Result{}
		}}
	})
	run(t.Context(), c, "Do it.")
	require.Equal(t, "Base.", g.requests[0].System)
	require.Equal(t, "Base. Rules of dir/.", g.requests[1].System)
	require.Equal(t, "Base. Rules of dir/.", g.requests[2].System)
	require.NotContains(t, fmt.Sprint(outline(c.History())), "Rules")
}

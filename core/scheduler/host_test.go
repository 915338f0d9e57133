package scheduler_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// recordingHost records which step sent it a message.
type recordingHost struct {
	mu       sync.Mutex
	messages []string
}

func (h *recordingHost) Progress(p host.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages = append(h.messages, p.Message)
}

func (h *recordingHost) Log(host.LogEntry) {}

func (h *recordingHost) Ask(context.Context, ...host.Question) ([]host.Reply, error) {
	return []host.Reply{{Elicit: &host.Elicited{Action: host.ElicitAccept}}}, nil
}

type anotherKey struct{}

// report sends a message to the host of ctx.
func report(ctx context.Context, step string) {
	host.FromContext(ctx).Progress(host.Progress{Message: step})
}

// EX-20: every step of a call has the host of the call, and only until the step ends.
func TestHost(t *testing.T) {
	h := new(recordingHost)
	kept := make(map[string]context.Context)
	s := newSetup(tools.KindEdit, policy.AskUser, bus.ProceedOnce)
	step := func(ctx context.Context, name string) {
		report(ctx, name)
		kept[name] = ctx
	}
	s.confirm = func(ctx context.Context) (*tools.Confirmation, error) { step(ctx, "confirm"); return nil, nil }
	s.run = func(ctx context.Context, _ tools.Output) (tools.Result, error) {
		step(ctx, "execute")
		replies, err := host.FromContext(ctx).Ask(ctx, host.Question{Elicit: &host.Elicitation{Message: "Sure?"}})
		require.NoError(t, err)
		require.Equal(t, host.ElicitAccept, replies[0].Elicit.Action)
		return tools.Result{LLMContent: tools.Text("done")}, nil
	}
	s.options.Before = []scheduler.Before{func(ctx context.Context, _ scheduler.Proposal) (scheduler.Advice, error) {
		step(ctx, "before")
		return scheduler.Advice{}, nil
	}}
	s.options.After = []scheduler.After{func(ctx context.Context, _ scheduler.Done, r tools.Result) (tools.Result, error) {
		step(ctx, "after")
		report(kept["execute"], "too late")
		return r, nil
	}}
	s.options.RealPath = func(ctx context.Context, path string) (string, error) { step(ctx, "path"); return path, nil }
	s.policy.paths = []string{"/a"}
	s.options.Observe = []scheduler.Observe{func(ctx context.Context, _ scheduler.Request) (context.Context, func(scheduler.Response)) {
		return context.WithValue(ctx, anotherKey{}, "another value"), nil
	}}
	require.Equal(t, scheduler.StatusSuccess, s.call(host.NewContext(t.Context(), h)).Status)
	require.Equal(t, []string{"before", "path", "confirm", "execute", "after"}, h.messages)
	for name, ctx := range kept {
		require.Equal(t, "another value", ctx.Value(anotherKey{}), name)
		report(ctx, "too late")
		_, err := host.FromContext(ctx).Ask(t.Context())
		require.Equal(t, fault.Cancelled, fault.CodeOf(err), name)
	}
	require.Len(t, h.messages, 5)
}

// The calls of a batch have the host too, concurrently. A tool that has returned does not end it for the others.
// Messages of a tool that continues after its call are dropped.
func TestHostOfBatch(t *testing.T) {
	h := new(recordingHost)
	set := toolset{}
	both := make(chan struct{}, 2)
	release := make(chan struct{})
	var late sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		set.add(name, tools.KindRead, true, func(ctx context.Context, _ string) (tools.Result, error) {
			both <- struct{}{}
			if name == "two" {
				<-release // until the other has returned
			}
			report(ctx, name)
			late.Go(func() {
				for range 100 {
					host.FromContext(ctx).Log(host.LogEntry{Data: json.RawMessage(`1`)})
				}
			})
			return tools.Result{}, nil
		})
	}
	o := scheduler.Options{Tools: set, Policy: &stub{decide: func(policy.Call) policy.Decision {
		return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Allow}}
	}}}
	o.After = []scheduler.After{func(_ context.Context, d scheduler.Done, r tools.Result) (tools.Result, error) {
		if d.Spec.Name == "one" {
			<-both
			<-both
			close(release)
		}
		return r, nil
	}}
	responses := scheduler.New(o).RunAll(host.NewContext(t.Context(), h), batchOf("one", "two"))
	late.Wait()
	for _, r := range responses {
		require.Equal(t, scheduler.StatusSuccess, r.Status)
	}
	require.Equal(t, []string{"one", "two"}, h.messages)
}

// A call within a call, such as a subagent's, has the host of the outer one.
func TestHostOfInnerCalls(t *testing.T) {
	h := new(recordingHost)
	allow := &stub{decide: func(policy.Call) policy.Decision {
		return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Allow}}
	}}
	inner := toolset{}
	inner.add("inner", tools.KindRead, true, func(ctx context.Context, _ string) (tools.Result, error) {
		report(ctx, "inner")
		return tools.Result{}, nil
	})
	outer := toolset{}
	var during context.Context
	outer.add("outer", tools.KindOther, false, func(ctx context.Context, _ string) (tools.Result, error) {
		during = ctx
		scheduler.New(scheduler.Options{Tools: inner, Policy: allow}).RunAll(ctx, batchOf("inner", "inner"))
		report(ctx, "outer")
		return tools.Result{}, nil
	})
	s := scheduler.New(scheduler.Options{Tools: outer, Policy: allow})
	s.Run(host.NewContext(t.Context(), h), batchOf("outer")[0])
	scheduler.New(scheduler.Options{Tools: inner, Policy: allow}).Run(during, batchOf("inner")[0]) // continues after its call
	require.Equal(t, []string{"inner", "inner", "outer"}, h.messages)
}

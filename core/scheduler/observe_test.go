package scheduler_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

type observing struct{}

// Observers see each call from its beginning to its one response. Their contexts are passed on, and their panics affect
// no call.
func TestObserve(t *testing.T) {
	var events []string
	var defects int
	var within any
	known := toolset{}
	known.add("look", tools.KindRead, false, func(ctx context.Context, _ string) (tools.Result, error) {
		within = ctx.Value(observing{})
		return tools.Result{LLMContent: tools.Text("seen")}, nil
	})
	known.add("fall", tools.KindRead, false, func(context.Context, string) (tools.Result, error) { panic("fell") })
	s := scheduler.New(scheduler.Options{
		Tools: known, OnDefect: func(error) { defects++ },
		Observe: []scheduler.Observe{
			func(ctx context.Context, r scheduler.Request) (context.Context, func(scheduler.Response)) {
				events = append(events, "begin "+r.Tool)
				return context.WithValue(ctx, observing{}, "outer"), func(resp scheduler.Response) { events = append(events, "end "+resp.Tool+" "+string(resp.Status)) }
			},
			func(context.Context, scheduler.Request) (context.Context, func(scheduler.Response)) { return nil, nil },
			func(context.Context, scheduler.Request) (context.Context, func(scheduler.Response)) {
				panic("observer")
			},
			func(context.Context, scheduler.Request) (context.Context, func(scheduler.Response)) {
				events = append(events, "inner begins")
				return nil, func(scheduler.Response) {
					events = append(events, "inner ends")
					panic("at the end")
				}
			},
		},
	})
	got := s.RunAll(t.Context(), []scheduler.Request{{Tool: "look", Args: json.RawMessage(`{}`)}, {Tool: "fall"}, {Tool: "none"}})
	require.Len(t, got, 3)
	require.Equal(t, scheduler.StatusSuccess, got[0].Status)
	require.Equal(t, "outer", within)
	require.Equal(t, []string{
		"begin look", "inner begins", "inner ends", "end look success",
		"begin fall", "inner begins", "inner ends", "end fall error",
		"begin none", "inner begins", "inner ends", "end none error",
	}, events)
	require.Equal(t, 7, defects, "two from the observers of each call, and the tool's own")
}

// Each call has an ID of its own in responses and on the bus, but observers see whether the caller chose one.
func TestObserveSeesCallersIDs(t *testing.T) {
	var observed []string
	s := scheduler.New(scheduler.Options{Tools: toolset{}, MaxParallel: 1, Observe: []scheduler.Observe{
		func(ctx context.Context, r scheduler.Request) (context.Context, func(scheduler.Response)) {
			observed = append(observed, r.CallID)
			return ctx, nil
		},
	}})
	got := s.RunAll(t.Context(), []scheduler.Request{{Tool: "none"}, {CallID: "mine", Tool: "none"}, {Tool: "none"}})
	require.Equal(t, []string{"", "mine", ""}, observed)
	require.NotEmpty(t, got[0].CallID)
	require.Equal(t, "mine", got[1].CallID)
	require.NotEqual(t, got[0].CallID, got[2].CallID)
}

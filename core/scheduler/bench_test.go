package scheduler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// overhead returns a scheduler with a tool that checks its arguments and does nothing. listen, if set, subscribes a
// front end.
func overhead(tb testing.TB, kind tools.Kind, listen func(b *bus.MessageBus)) (*scheduler.Scheduler, scheduler.Request) {
	tb.Helper()
	type params struct {
		FilePath string `json:"file_path"`
		Offset   int    `json:"offset,omitempty"`
		Limit    int    `json:"limit,omitempty"`
	}
	tool, err := tools.Define("noop", "Does nothing.", kind, func(context.Context, params) (tools.Result, error) {
		return tools.Result{LLMContent: tools.Text("done")}, nil
	}, tools.WithParallel())
	require.NoError(tb, err)
	r := tools.NewRegistry(tools.RegistryOptions{})
	require.NoError(tb, r.Register(tool))
	o := scheduler.Options{Tools: r}
	if listen != nil {
		o.Bus = bus.New(bus.Options{})
		tb.Cleanup(func() { require.NoError(tb, o.Bus.Close()) })
		listen(o.Bus)
	}
	return scheduler.New(o), scheduler.Request{CallID: "c", Tool: "noop", Args: json.RawMessage(`{"file_path":"a/b.go","offset":100,"limit":200}`)}
}

func events(b *bus.MessageBus) {
	bus.Observe(context.Background(), b, func(context.Context, bus.Message) {})
}

func approves(b *bus.MessageBus) {
	bus.Subscribe(context.Background(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
		_ = b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true})
	})
}

// The overhead of a call: look up, check, decide, schedule. Budget: 30 µs and 150 allocations.
func BenchmarkRun(b *testing.B) {
	for name, bench := range map[string]struct {
		kind   tools.Kind
		listen func(*bus.MessageBus)
	}{
		"no bus":         {tools.KindRead, nil},
		"no events read": {tools.KindRead, func(*bus.MessageBus) {}},
		"events":         {tools.KindRead, events},
		"asked":          {tools.KindEdit, approves},
	} {
		b.Run(name, func(b *testing.B) {
			s, request := overhead(b, bench.kind, bench.listen)
			b.ReportAllocs()
			for b.Loop() {
				if r := s.Run(b.Context(), request); r.Status != scheduler.StatusSuccess {
					b.Fatal(r.Result.Error)
				}
			}
		})
	}
}

func BenchmarkRunAll(b *testing.B) {
	s, request := overhead(b, tools.KindRead, func(*bus.MessageBus) {})
	for _, n := range []int{1, 10, 100} {
		requests := make([]scheduler.Request, n)
		for i := range requests {
			requests[i] = request
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.RunAll(b.Context(), requests)
			}
		})
	}
}

// A test checks the number of allocations, because it does not depend on the machine. There is a bus, with various
// subscribers.
func TestAllocations(t *testing.T) {
	for name, listen := range map[string]func(*bus.MessageBus){"no events read": func(*bus.MessageBus) {}, "events": events} {
		s, request := overhead(t, tools.KindRead, listen)
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { s.Run(t.Context(), request) }), 150.0, name)
	}
}

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
)

// scale returns usual, or full where the environment asks for long runs.
func scale(usual, full int) int {
	if os.Getenv("FETTLE_FULL") != "" {
		return full
	}
	return usual
}

// A hundred publishers and askers, and a hundred subscriptions that come and
// go, some of them panicking: nothing is received twice or out of order, what
// is missing is counted, each answer fits its question, and all ends.
func TestStress(t *testing.T) {
	const parties = 100
	rounds := scale(40, 1000)
	var defects list[error]
	b := bus.New(bus.Options{Queue: 64, OnDefect: defects.add})

	// Two that stay: one that answers, one that counts.
	bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.AskUserRequest) {
		err := b.Publish(bus.AskUserResponse{CorrelationID: q.CorrelationID, Answers: map[string]string{"0": q.Questions[0].Question}})
		if err != nil && !errors.Is(err, bus.ErrAnswered) {
			t.Error(err)
		}
	})
	got := 0
	last := map[string]int{}
	counter := bus.Observe(t.Context(), b, func(_ context.Context, m bus.Message) {
		o, ok := m.(bus.ToolOutput)
		if !ok {
			return
		}
		got++
		var i int
		if _, err := fmt.Sscan(o.Chunk, &i); err != nil || i < last[o.CallID] {
			t.Errorf("%s: %d after %d", o.CallID, i, last[o.CallID]-1)
		}
		last[o.CallID] = i + 1
	})

	var wg sync.WaitGroup
	for p := range parties {
		wg.Go(func() { // publishes and asks
			for i := range rounds {
				if err := b.Publish(bus.ToolOutput{CallID: fmt.Sprint(p), Chunk: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
				if i%8 != 0 {
					continue
				}
				text := fmt.Sprint(p, i)
				a, err := bus.Ask(t.Context(), b, bus.AskUserRequest{Questions: []bus.UserQuestion{{Question: text}}})
				if err == nil && a.Answers["0"] != text {
					t.Errorf("asked %q, got %q", text, a.Answers["0"])
				}
				if err != nil && !errors.Is(err, bus.ErrNoApprover) { // all queues may be full
					t.Error(err)
				}
			}
		})
		wg.Go(func() { // comes and goes
			for i := range rounds / 4 {
				ctx, cancel := context.WithCancel(t.Context())
				begun := make(chan struct{}, 1)
				s := bus.SubscribeAll(ctx, b, func(context.Context, bus.Message) {
					select {
					case begun <- struct{}{}:
					default:
					}
					if p%10 == 0 {
						panic(p)
					}
				})
				if i%2 == 0 {
					_ = b.Publish(bus.SubagentActivity{})
					<-begun
				}
				if i%3 == 0 {
					s.Unsubscribe()
				}
				cancel()
				<-s.Done()
			}
		})
	}
	wg.Wait()
	counter.Unsubscribe()
	<-counter.Done()
	require.NoError(t, b.Close())
	require.NotZero(t, got)
	require.LessOrEqual(t, got, parties*rounds)
	require.NotEmpty(t, defects.get())
	require.Less(t, int64(parties*rounds-got), b.Dropped()+65) // the messages queued at the end, and the next ones
}

package bus_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
)

// AR-24, KH-23: without an approver, Ask returns at once.
func TestNobody(t *testing.T) {
	subscribe := map[string]func(t *testing.T, b *bus.MessageBus){
		"no subscription": func(*testing.T, *bus.MessageBus) {},
		"another type only": func(t *testing.T, b *bus.MessageBus) {
			bus.Subscribe(t.Context(), b, func(context.Context, bus.AskUserRequest) {})
		},
		"an observer only": func(t *testing.T, b *bus.MessageBus) {
			bus.Observe(t.Context(), b, func(context.Context, bus.Message) {})
		},
		"unsubscribed": func(t *testing.T, b *bus.MessageBus) { bus.Subscribe(t.Context(), b, keep).Unsubscribe() },
	}
	for name, setUp := range subscribe {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bus.MessageBus) {
				setUp(t, b)
				start := time.Now()
				a, err := bus.Ask(t.Context(), b, request{CorrelationID: "1"})
				require.ErrorIs(t, err, bus.ErrNoApprover)
				require.Zero(t, a)
				require.Zero(t, time.Since(start))
				require.Equal(t, bus.ErrUnknownQuestion, b.Publish(yes("1")))
				// No subscriber has seen it, so the id can be used again.
				bus.Subscribe(t.Context(), b, func(context.Context, request) { publish(t, b, yes("1")) })
				require.Equal(t, reply{yes("1"), nil}, <-ask(t.Context(), b, "1"))
			})
		})
	}
}

// The front end that holds the question disconnects while it is open.
func TestListenerDiesMidQuestion(t *testing.T) {
	// Each front end calls shown, then waits until it is to disconnect.
	deaths := map[string]func(t *testing.T, b *bus.MessageBus, shown func()) (die func()){
		"its context ends": func(t *testing.T, b *bus.MessageBus, shown func()) func() {
			ctx, cancel := context.WithCancel(t.Context())
			bus.Subscribe(ctx, b, func(context.Context, request) { shown() })
			return cancel
		},
		"its context ends while its handler hangs": func(t *testing.T, b *bus.MessageBus, shown func()) func() {
			ctx, cancel := context.WithCancel(t.Context())
			bus.Subscribe(ctx, b, func(context.Context, request) { shown(); time.Sleep(time.Hour) })
			return cancel
		},
		"it unsubscribes": func(t *testing.T, b *bus.MessageBus, shown func()) func() {
			return bus.Subscribe(t.Context(), b, func(context.Context, request) { shown() }).Unsubscribe
		},
		"it unsubscribes from all": func(t *testing.T, b *bus.MessageBus, shown func()) func() {
			return bus.SubscribeAll(t.Context(), b, func(context.Context, bus.Message) { shown() }).Unsubscribe
		},
		"it panics": func(t *testing.T, b *bus.MessageBus, shown func()) func() {
			die := make(chan struct{})
			bus.Subscribe(t.Context(), b, func(context.Context, request) { shown(); <-die; panic("died") })
			return func() { close(die) }
		},
	}
	for name, start := range deaths {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bus.MessageBus) {
				shown := make(chan struct{})
				die := start(t, b, func() { close(shown) })
				asked := ask(t.Context(), b, "1")
				<-shown
				begin := time.Now()
				die()
				require.ErrorIs(t, (<-asked).err, bus.ErrNoApprover)
				require.Zero(t, time.Since(begin))
				require.Equal(t, bus.ErrWithdrawn, b.Publish(yes("1")))
			})
		})
		t.Run(name+", another stays", func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bus.MessageBus) {
				shown := make(chan struct{})
				die := start(t, b, func() { close(shown) })
				other := bus.Subscribe(t.Context(), b, keep)
				asked := ask(t.Context(), b, "1")
				<-shown
				die()
				synctest.Wait()
				require.Empty(t, asked)
				publish(t, b, yes("1"))
				require.Equal(t, reply{yes("1"), nil}, <-asked)
				other.Unsubscribe()
			})
		})
	}
}

// A question ends with its only subscriber even before the handler received it.
func TestListenerDiesBeforeQuestion(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		release := make(chan struct{})
		var seen list[string]
		s := bus.Subscribe(t.Context(), b, func(_ context.Context, q request) {
			seen.add(q.CorrelationID)
			<-release
		})
		one, two := ask(t.Context(), b, "1"), (<-chan reply)(nil)
		synctest.Wait()
		two = ask(t.Context(), b, "2")
		synctest.Wait()
		s.Unsubscribe()
		require.ErrorIs(t, (<-one).err, bus.ErrNoApprover)
		require.ErrorIs(t, (<-two).err, bus.ErrNoApprover)
		close(release)
		<-s.Done()
		require.Equal(t, []string{"1"}, seen.get())
	})
}

// A panic gives up the question of that call, and no other.
func TestPanicGivesUpOneQuestion(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		bus.Subscribe(t.Context(), b, func(_ context.Context, q request) {
			if q.CorrelationID == "bad" {
				panic("bad")
			}
		})
		good := ask(t.Context(), b, "good")
		synctest.Wait()
		require.ErrorIs(t, (<-ask(t.Context(), b, "bad")).err, bus.ErrNoApprover)
		synctest.Wait()
		require.Empty(t, good)
		publish(t, b, yes("good"))
		require.Equal(t, yes("good"), (<-good).answer)
	})
}

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
)

// list collects values from handlers.
type list[T any] struct {
	mu sync.Mutex
	of []T
}

func (l *list[T]) add(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of = append(l.of, v)
}

func (l *list[T]) get() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]T{}, l.of...)
}

func chunk(i int) bus.ToolOutput { return bus.ToolOutput{CallID: "c", Chunk: fmt.Sprint(i)} }

func chunks(from, to int) []bus.Message {
	var ms []bus.Message
	for i := from; i < to; i++ {
		ms = append(ms, chunk(i))
	}
	return ms
}

func messages(l *list[bus.Message]) func(context.Context, bus.Message) {
	return func(_ context.Context, m bus.Message) { l.add(m) }
}

// each adapts a list of messages to a typed handler.
func each[M bus.Message](l *list[bus.Message]) func(context.Context, M) {
	return func(_ context.Context, m M) { l.add(m) }
}

func publish(t *testing.T, b *bus.MessageBus, ms ...bus.Message) {
	t.Helper()
	for _, m := range ms {
		require.NoError(t, b.Publish(m))
	}
}

// AR-23: a subscriber of a type receives its messages, in order. The bubble fails if a goroutine is left.
func TestPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{})
		publish(t, b, chunk(0)) // before the first subscription
		var output, activity, all, watched list[bus.Message]
		bus.Subscribe(t.Context(), b, each[bus.ToolOutput](&output))
		bus.Subscribe(t.Context(), b, each[bus.SubagentActivity](&activity))
		bus.SubscribeAll(t.Context(), b, messages(&all))
		bus.Observe(t.Context(), b, messages(&watched))

		want := append(chunks(1, 50), bus.SubagentActivity{SubagentName: "s"})
		want = append(want, chunks(50, 100)...)
		publish(t, b, want...)
		synctest.Wait()
		require.Equal(t, chunks(1, 100), output.get())
		require.Equal(t, []bus.Message{bus.SubagentActivity{SubagentName: "s"}}, activity.get())
		require.Equal(t, want, all.get())
		require.Equal(t, want, watched.get())
		require.Zero(t, b.Dropped())
		require.NoError(t, b.Close())
	})
}

// Concurrent publishers: the messages of each one stay in order, and all subscriptions see the same order.
func TestOrderIsTheSameForAll(t *testing.T) {
	const publishers, each = 8, 50
	b := bus.New(bus.Options{Queue: publishers * each})
	var seen [3]list[bus.Message]
	var wg, all sync.WaitGroup
	all.Add(len(seen) * publishers * each)
	for i := range seen {
		bus.SubscribeAll(t.Context(), b, func(_ context.Context, m bus.Message) {
			seen[i].add(m)
			all.Done()
		})
	}
	for p := range publishers {
		wg.Go(func() {
			for i := range each {
				if err := b.Publish(bus.ToolOutput{CallID: fmt.Sprint(p), Chunk: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all.Wait()
	require.NoError(t, b.Close())
	require.Equal(t, seen[0].get(), seen[1].get())
	require.Equal(t, seen[0].get(), seen[2].get())
	next := map[string]int{}
	for _, m := range seen[0].get() {
		o := m.(bus.ToolOutput)
		require.Equal(t, fmt.Sprint(next[o.CallID]), o.Chunk)
		next[o.CallID]++
	}
}

// A blocked subscriber delays no other; it misses the newest messages, which are counted.
func TestSlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{Queue: 4})
		var slow, quick list[bus.Message]
		release := make(chan struct{})
		s := bus.Subscribe(t.Context(), b, func(_ context.Context, m bus.ToolOutput) {
			slow.add(m)
			<-release
		})
		q := bus.SubscribeAll(t.Context(), b, messages(&quick))
		for i := range 10 {
			publish(t, b, chunk(i))
			synctest.Wait() // the fast one keeps up; the slow one has the first
		}
		require.Equal(t, chunks(0, 10), quick.get())
		require.Zero(t, q.Dropped())
		require.EqualValues(t, 5, s.Dropped())
		require.EqualValues(t, 5, b.Dropped())
		close(release)
		synctest.Wait()
		require.Equal(t, chunks(0, 5), slow.get())
		publish(t, b, chunk(10)) // there is room again
		synctest.Wait()
		require.Equal(t, append(chunks(0, 5), chunk(10)), slow.get())
		require.NoError(t, b.Close())
	})
}

// A queue that is never empty keeps its order and its bound.
func TestBusyQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const depth, total = 8, 500
		b := bus.New(bus.Options{Queue: depth + 1})
		var seen list[bus.Message]
		step := make(chan struct{})
		s := bus.Subscribe(t.Context(), b, func(_ context.Context, m bus.ToolOutput) {
			<-step
			seen.add(m)
		})
		for i := range total {
			publish(t, b, chunk(i))
			if i >= depth {
				step <- struct{}{}
			}
		}
		close(step)
		synctest.Wait()
		require.Equal(t, chunks(0, total), seen.get())
		require.Zero(t, s.Dropped())
		require.NoError(t, b.Close())
	})
}

// Much output displaces neither events nor questions.
func TestClassesHaveTheirOwnRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{Queue: 3})
		var seen list[bus.Type]
		release := make(chan struct{})
		s := bus.SubscribeAll(t.Context(), b, func(_ context.Context, m bus.Message) {
			<-release
			seen.add(bus.TypeOf(m))
			if q, ok := m.(bus.AskUserRequest); ok {
				_ = b.Publish(bus.AskUserResponse{CorrelationID: q.CorrelationID})
			}
		})
		publish(t, b, chunks(0, 20)...)
		publish(t, b, bus.ToolCallsUpdate{})
		answered := make(chan error, 1)
		go func() {
			_, err := bus.Ask(t.Context(), b, bus.AskUserRequest{})
			answered <- err
		}()
		synctest.Wait()
		close(release)
		require.NoError(t, <-answered)
		synctest.Wait()
		o := bus.TypeOf(bus.ToolOutput{})
		require.Contains(t, [][]bus.Type{ // the handler may have started before the queue was full
			{o, o, o, bus.TypeOf(bus.ToolCallsUpdate{}), bus.TypeOf(bus.AskUserRequest{}), bus.TypeOf(bus.AskUserResponse{})},
			{o, o, o, o, bus.TypeOf(bus.ToolCallsUpdate{}), bus.TypeOf(bus.AskUserRequest{}), bus.TypeOf(bus.AskUserResponse{})},
		}, seen.get())
		require.EqualValues(t, 20+1+2-len(seen.get()), s.Dropped())
		require.NoError(t, b.Close())
	})
}

// AR-23: a failing handler affects no other subscription, and not even its own.
func TestPanickingListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var defects list[error]
		b := bus.New(bus.Options{OnDefect: func(err error) {
			defects.add(err)
			panic("the host, too") // recovered by the bus
		}})
		var failing, other list[bus.Message]
		bus.Subscribe(t.Context(), b, func(_ context.Context, m bus.ToolOutput) {
			failing.add(m)
			if m == chunk(1) {
				panic("front end is broken")
			}
		})
		bus.Subscribe(t.Context(), b, each[bus.ToolOutput](&other))
		publish(t, b, chunks(0, 4)...)
		synctest.Wait()
		require.Equal(t, chunks(0, 4), failing.get())
		require.Equal(t, chunks(0, 4), other.get())
		require.Len(t, defects.get(), 1)
		require.ErrorContains(t, defects.get()[0], "tool-output panicked: front end is broken")
		require.ErrorContains(t, defects.get()[0], "bus_test.go") // the stack
		require.NoError(t, b.Close())
	})
	synctest.Test(t, func(t *testing.T) { // without OnDefect
		b := bus.New(bus.Options{})
		bus.SubscribeAll(t.Context(), b, func(context.Context, bus.Message) { panic(errors.New("x")) })
		publish(t, b, chunk(0), chunk(1))
		synctest.Wait()
		require.NoError(t, b.Close())
	})
}

// A handler that ends its goroutine ends its subscription.
func TestGoexitInHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{})
		s := bus.SubscribeAll(t.Context(), b, func(context.Context, bus.Message) { runtime.Goexit() })
		_, err := bus.Ask(t.Context(), b, bus.AskUserRequest{})
		require.ErrorIs(t, err, bus.ErrNoApprover)
		<-s.Done()
		require.False(t, b.Listening(bus.ToolOutput{}))
		require.NoError(t, b.Close())
	})
}

// foreign implements Message outside of the package.
type foreign struct{ bus.ToolOutput }

func TestRefusedMessages(t *testing.T) {
	b := bus.New(bus.Options{})
	bus.SubscribeAll(t.Context(), b, func(_ context.Context, m bus.Message) { t.Errorf("got %#v", m) })
	for name, m := range map[string]bus.Message{
		"nil":                  nil,
		"a pointer":            &bus.ToolOutput{},
		"a nil pointer":        (*bus.ToolOutput)(nil),
		"foreign":              foreign{},
		"a question":           bus.ToolConfirmationRequest{CorrelationID: "x"},
		"another question":     bus.AskUserRequest{CorrelationID: "x"},
		"an answer without id": bus.ToolConfirmationResponse{Confirmed: true},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, b.Publish(m), bus.ErrInvalid)
		})
	}
	require.NoError(t, b.Close())
	require.Panics(t, func() { bus.Subscribe(t.Context(), b, func(context.Context, bus.Message) {}) })
	require.Panics(t, func() { bus.Subscribe(t.Context(), b, func(context.Context, *bus.ToolOutput) {}) })
	require.Panics(t, func() { bus.Subscribe(t.Context(), b, func(context.Context, foreign) {}) })
}

// An observer counts as a receiver, and cannot answer.
func TestWatched(t *testing.T) {
	b := bus.New(bus.Options{})
	require.False(t, b.Watched(bus.ToolOutput{}))
	one := bus.Subscribe(t.Context(), b, func(context.Context, bus.ToolOutput) {})
	require.True(t, b.Watched(bus.ToolOutput{}))
	require.False(t, b.Watched(bus.ToolCallsUpdate{}))
	one.Unsubscribe()
	for _, subscribe := range []func(context.Context, *bus.MessageBus, func(context.Context, bus.Message)) *bus.Subscription{bus.SubscribeAll, bus.Observe} {
		s := subscribe(t.Context(), b, func(context.Context, bus.Message) {})
		require.True(t, b.Watched(bus.ToolOutput{}))
		s.Unsubscribe()
		require.False(t, b.Watched(bus.ToolOutput{}))
	}
	require.NoError(t, b.Close())
}

func TestListening(t *testing.T) {
	b := bus.New(bus.Options{})
	typ := bus.ToolConfirmationRequest{}
	require.False(t, b.Listening(typ))
	bus.Observe(t.Context(), b, func(context.Context, bus.Message) {})
	bus.Subscribe(t.Context(), b, func(context.Context, bus.ToolOutput) {})
	require.False(t, b.Listening(typ))
	one := bus.Subscribe(t.Context(), b, func(context.Context, bus.ToolConfirmationRequest) {})
	two := bus.Subscribe(t.Context(), b, func(context.Context, bus.ToolConfirmationRequest) {})
	one.Unsubscribe()
	require.True(t, b.Listening(typ))
	two.Unsubscribe()
	require.False(t, b.Listening(typ))
	all := bus.SubscribeAll(t.Context(), b, func(context.Context, bus.Message) {})
	require.True(t, b.Listening(typ))
	all.Unsubscribe()
	require.False(t, b.Listening(typ))
	require.NoError(t, b.Close())
	require.False(t, b.Listening(bus.ToolOutput{}))
}

// AR-22: after Flush, the handler has returned for all messages published before.
func TestFlush(t *testing.T) {
	t.Run("waits for what is queued", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := bus.New(bus.Options{})
			defer b.Close()
			var got list[bus.Message]
			gate := make(chan struct{})
			s := bus.Subscribe(t.Context(), b, func(_ context.Context, m bus.ToolOutput) {
				<-gate
				got.add(m)
			})
			require.True(t, s.Flush(t.Context()), "the queue is empty")
			publish(t, b, chunks(0, 3)...)
			through := make(chan bool)
			go func() { through <- s.Flush(t.Context()) }()
			synctest.Wait()
			select {
			case <-through:
				t.Fatal("it did not wait")
			default:
			}
			publish(t, b, chunk(3))
			for range 3 {
				gate <- struct{}{}
			}
			require.True(t, <-through, "it waited for a later message")
			require.Equal(t, chunks(0, 3), got.get())
			close(gate)
			require.True(t, s.Flush(t.Context()))
			require.Equal(t, chunks(0, 4), got.get())
		})
	})
	t.Run("ends with ctx, and with the subscription", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := bus.New(bus.Options{})
			defer b.Close()
			s := bus.Subscribe(t.Context(), b, func(ctx context.Context, _ bus.ToolOutput) { <-ctx.Done() })
			publish(t, b, chunk(0))
			synctest.Wait()
			ended, end := context.WithCancel(t.Context())
			end()
			require.False(t, s.Flush(ended))
			through := make(chan bool)
			go func() { through <- s.Flush(t.Context()) }()
			synctest.Wait()
			s.Unsubscribe()
			require.False(t, <-through)
			require.False(t, s.Flush(t.Context()))
		})
	})
}

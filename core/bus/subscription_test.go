package bus_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
)

func TestUnsubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{})
		var seen list[bus.Message]
		begun, release := make(chan struct{}), make(chan struct{})
		s := bus.Subscribe(t.Context(), b, func(ctx context.Context, m bus.ToolOutput) {
			seen.add(m)
			close(begun)
			<-ctx.Done()
			<-release
		})
		publish(t, b, chunks(0, 3)...)
		<-begun
		s.Unsubscribe() // does not wait for the handler, whose ctx it ends
		require.False(t, b.Listening(bus.ToolOutput{}))
		publish(t, b, chunk(3))
		synctest.Wait()
		select {
		case <-s.Done():
			t.Fatal("done while its handler runs")
		default:
		}
		close(release)
		<-s.Done()
		require.Equal(t, chunks(0, 1), seen.get()) // queued messages are dropped
		s.Unsubscribe()
		require.Zero(t, s.Dropped())
		require.NoError(t, b.Close())
	})
}

func TestUnsubscribeFromHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{})
		var seen list[bus.Message]
		var s *bus.Subscription
		ready := make(chan struct{})
		s = bus.SubscribeAll(t.Context(), b, func(_ context.Context, m bus.Message) {
			<-ready
			seen.add(m)
			s.Unsubscribe()
		})
		close(ready)
		publish(t, b, chunk(0), chunk(1))
		<-s.Done()
		require.Equal(t, chunks(0, 1), seen.get())
		require.NoError(t, b.Close())
	})
}

// AR-23: a subscription ends with its context.
func TestContextEndsSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{})
		gone := errors.New("browser tab closed")
		ctx, cancel := context.WithCancelCause(t.Context())
		var cause error
		begun := make(chan struct{})
		busy := bus.SubscribeAll(ctx, b, func(ctx context.Context, _ bus.Message) {
			close(begun)
			<-ctx.Done()
			cause = context.Cause(ctx)
		})
		idle := bus.Subscribe(ctx, b, func(context.Context, bus.UpdatePolicy) {})
		watching := bus.Observe(ctx, b, func(context.Context, bus.Message) {})
		publish(t, b, chunk(0), chunk(1))
		<-begun
		cancel(gone)
		<-busy.Done()
		<-idle.Done()
		<-watching.Done()
		require.Equal(t, gone, cause)
		synctest.Wait()
		for _, m := range []bus.Message{bus.ToolOutput{}, bus.ToolCallsUpdate{}, bus.AskUserRequest{}, bus.ToolConfirmationRequest{}} {
			require.False(t, b.Listening(m))
		}

		late := bus.SubscribeAll(ctx, b, func(context.Context, bus.Message) { t.Error("called") })
		select {
		case <-late.Done():
		default:
			t.Fatal("not ended when Subscribe returned")
		}
		require.False(t, b.Listening(bus.ToolOutput{}))
		publish(t, b, chunk(2))
		late.Unsubscribe()
		require.NoError(t, b.Close())
	})
}

// No message is delivered once the context has ended, even if the handler itself has just ended it.
func TestHandlerEndsItsContext(t *testing.T) {
	for range 200 {
		b := bus.New(bus.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var seen list[bus.Message]
		queued := make(chan struct{})
		s := bus.SubscribeAll(ctx, b, func(_ context.Context, m bus.Message) {
			<-queued
			seen.add(m)
			cancel()
		})
		publish(t, b, chunks(0, 5)...)
		close(queued)
		<-s.Done()
		require.Equal(t, chunks(0, 1), seen.get())
		require.NoError(t, b.Close())
	}
}

// counted is a context that counts registered functions.
type counted struct {
	context.Context
	done    chan struct{}
	waiting *int
}

func (c counted) Done() <-chan struct{} { return c.done }

func (c counted) AfterFunc(func()) (stop func() bool) {
	*c.waiting++
	return func() bool { *c.waiting--; return true }
}

// An ended subscription leaves no function registered at a longer-lived context, such as that of a session.
func TestNothingIsLeftAtTheContext(t *testing.T) {
	b := bus.New(bus.Options{})
	waiting := 0
	ctx := counted{t.Context(), make(chan struct{}), &waiting}
	s := bus.SubscribeAll(ctx, b, func(context.Context, bus.Message) {})
	require.NotZero(t, waiting)
	s.Unsubscribe()
	<-s.Done()
	require.Zero(t, waiting)
	require.NoError(t, b.Close())
	bus.SubscribeAll(ctx, b, func(context.Context, bus.Message) {})
	require.Zero(t, waiting)
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{})
		var cause error
		begun, release := make(chan struct{}), make(chan struct{})
		busy := bus.Subscribe(t.Context(), b, func(ctx context.Context, _ bus.ToolOutput) {
			close(begun)
			<-ctx.Done()
			cause = context.Cause(ctx)
			<-release
		})
		asked := make(chan error, 1)
		held := bus.Subscribe(t.Context(), b, func(context.Context, bus.AskUserRequest) {})
		watching := bus.Observe(t.Context(), b, func(context.Context, bus.Message) {})
		go func() {
			_, err := bus.Ask(t.Context(), b, bus.AskUserRequest{CorrelationID: "q"})
			asked <- err
		}()
		publish(t, b, chunk(0))
		<-begun
		synctest.Wait()
		closed := make(chan error, 2)
		for range 2 { // both wait for the handler
			go func() { closed <- b.Close() }()
		}
		require.ErrorIs(t, <-asked, bus.ErrClosed)
		<-held.Done()
		<-watching.Done()
		synctest.Wait()
		require.Empty(t, closed)
		close(release)
		require.NoError(t, <-closed)
		require.NoError(t, <-closed)
		<-busy.Done()
		require.Equal(t, bus.ErrClosed, cause)

		require.Equal(t, bus.ErrClosed, b.Publish(chunk(1)))
		require.Equal(t, bus.ErrClosed, b.Publish(bus.AskUserResponse{CorrelationID: "q"}))
		_, err := bus.Ask(t.Context(), b, bus.AskUserRequest{})
		require.Equal(t, bus.ErrClosed, err)
		<-bus.SubscribeAll(t.Context(), b, nil).Done()
		require.NoError(t, b.Close())
	})
}

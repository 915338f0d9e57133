package mcp_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// A call that runs when its server dies fails, reports that its effect is
// unknown, and is not repeated.
func TestDiesInMidCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(tool("a"))
		s.stderr = []string{"panic: out of luck", "exit 2"}
		var calls atomic.Int32
		s.onCall = func(ctx context.Context, _ toolCall) (mcp.CallResult, error) {
			calls.Add(1)
			<-ctx.Done() // and not at Done: a session may notice late
			return mcp.CallResult{}, ctx.Err()
		}
		m := one(t, s)
		a := lookUp(t, m, "s", "a")
		time.AfterFunc(second, func() { s.drop(errBroken) })
		r := call(t.Context(), t, a, `{}`)
		require.Equal(t, fault.MCPServerUnavailable, r.Error.Code)
		require.Contains(t, r.Error.Message, "unknown")
		require.Contains(t, r.Error.Message, "out of luck")
		require.Equal(t, int32(1), calls.Load())
	})
}

// Close ends running calls.
func TestCloseEndsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(tool("a"))
		s.onCall = func(ctx context.Context, _ toolCall) (mcp.CallResult, error) {
			<-ctx.Done()
			return mcp.CallResult{}, ctx.Err()
		}
		m := one(t, s)
		a := lookUp(t, m, "s", "a")
		time.AfterFunc(second, func() { _ = m.Close() })
		require.Equal(t, fault.MCPServerUnavailable, call(t.Context(), t, a, `{}`).Error.Code)
		require.Equal(t, fault.MCPServerUnavailable, call(t.Context(), t, a, `{}`).Error.Code)
	})
}

// The end of Start's ctx ends everything, as Close does.
func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(tool("a"))
		m := mcp.NewManager(mcp.Options{Dialer: dialer{"s": s.dial}, Servers: []mcp.Configured{stdio("s")}})
		ctx, cancel := context.WithCancel(t.Context())
		m.Start(ctx)
		require.True(t, m.Settled(t.Context()))
		cancel()
		synctest.Wait()
		require.Equal(t, 1, s.count(&s.closed))
		require.Equal(t, fault.NotInitialized, fault.CodeOf(m.Restart(t.Context(), "s")))
		require.NoError(t, m.Close())
		never := mcp.NewManager(mcp.Options{Servers: []mcp.Configured{stdio("s")}})
		require.NoError(t, never.Close())
		never.Start(t.Context())
		require.True(t, never.Settled(t.Context()))
	})
}

// A dialer that never returns does not block Close without bound, and Close
// reports it.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		m := mcp.NewManager(mcp.Options{Servers: []mcp.Configured{stdio("s")}, Dialer: dialer{"s": func(context.Context, mcp.ServerSpec, mcp.Handlers) (mcp.Session, error) {
			<-hang
			return newFake(), nil
		}}})
		m.Start(t.Context())
		require.Equal(t, fault.ExecutionFailed, fault.CodeOf(m.Close()))
		close(hang)
		require.NoError(t, m.Close())
	})
}

// A session that a dialer returns too late is closed, and no second attempt runs
// concurrently.
func TestLateSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := newFake(tool("late"))
		var tries atomic.Int32
		c := stdio("s")
		c.ConnectTimeout = second
		m := manage(t, mcp.Options{Servers: []mcp.Configured{c}, Dialer: dialer{"s": func(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
			if tries.Add(1) == 1 {
				time.Sleep(5 * second)
				return late.dial(ctx, spec, h)
			}
			return newFake(tool("a")).dial(ctx, spec, h)
		}}})
		require.True(t, m.Settled(t.Context()))
		require.Contains(t, status(t, m, "s").Error.Error(), "not ready within 1s")
		time.Sleep(time.Minute)
		require.Equal(t, 1, late.count(&late.closed))
		require.Equal(t, []string{"a"}, status(t, m, "s").Tools)
		require.Equal(t, int32(2), tries.Load())
	})
}

// The same is true of a session that lists its tools too late.
func TestLateList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := newFake(tool("late"))
		late.deaf = true
		late.onList = func(context.Context) error { time.Sleep(5 * second); return nil }
		var tries atomic.Int32
		c := stdio("s")
		c.ConnectTimeout = second
		m := manage(t, mcp.Options{Servers: []mcp.Configured{c}, Dialer: dialer{"s": func(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
			if tries.Add(1) == 1 {
				return late.dial(ctx, spec, h)
			}
			return newFake(tool("a")).dial(ctx, spec, h)
		}}})
		time.Sleep(time.Minute)
		require.Equal(t, 1, late.count(&late.closed))
		require.Equal(t, []string{"a"}, status(t, m, "s").Tools)
	})
}

package mcp_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// asker returns a session whose tool a asks the user and then takes another
// second.
func asker() *fake {
	s := newFake(tool("a"))
	s.onCall = func(ctx context.Context, _ toolCall) (mcp.CallResult, error) {
		answer, err := s.Elicit(ctx, host.Elicitation{Message: "Sure?"})
		if err != nil {
			return mcp.CallResult{}, err
		}
		select {
		case <-time.After(second):
			return text(string(answer.Action) + string(answer.Content)), nil
		case <-ctx.Done():
			return mcp.CallResult{}, ctx.Err()
		}
	}
	return s
}

// The server may ask the user; that time does not count, within bounds. Without a
// handler the server is informed that elicitation is not supported.
func TestElicit(t *testing.T) {
	for name, tt := range map[string]struct {
		takes time.Duration
		want  string
	}{
		"soon":          {time.Minute, `accept"sSure?"`},
		"after a while": {9 * time.Minute, `accept"sSure?"`},
		"never":         {24 * time.Hour, "cancel"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := asker()
				c := stdio("s")
				c.Timeout = 2 * second
				m := manage(t, mcp.Options{Dialer: dialer{"s": s.dial}, Servers: []mcp.Configured{c},
					Elicit: func(ctx context.Context, server string, e host.Elicitation) (host.Elicited, error) {
						select {
						case <-time.After(tt.takes):
							return host.Elicited{Action: host.ElicitAccept, Content: []byte(`"` + server + e.Message + `"`)}, nil
						case <-ctx.Done():
							return host.Elicited{Action: host.ElicitCancel}, nil
						}
					}, Roots: func() []string { return []string{"/a"} }})
				require.True(t, m.Settled(t.Context()))
				r := call(t.Context(), t, lookUp(t, m, "s", "a"), `{}`)
				require.Nil(t, r.Error)
				require.Contains(t, r.LLMContent.String(), tt.want)
				require.Equal(t, []string{"/a"}, s.Roots())
				m.RootsChanged()
				synctest.Wait()
				require.Equal(t, 1, s.count(&s.roots))
			})
		})
	}
	s := newFake()
	_ = one(t, s)
	require.Nil(t, s.Elicit)
	require.Nil(t, s.Roots)
}

// A question suspends the timeouts of the requests that ran before it and of no
// others, and its own time is bounded whatever the handler does.
func TestQuestionsAndTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(tool("hang"))
		s.onCall = func(ctx context.Context, _ toolCall) (mcp.CallResult, error) {
			<-ctx.Done()
			return mcp.CallResult{}, ctx.Err()
		}
		answer := make(chan struct{})
		m := one(t, s, func(o *mcp.Options) {
			o.Servers[0].Timeout = time.Minute
			o.Elicit = func(context.Context, string, host.Elicitation) (host.Elicited, error) {
				<-answer // and not at the end of ctx
				return host.Elicited{Action: host.ElicitDecline}, nil
			}
		})
		hang := lookUp(t, m, "s", "hang")
		var all sync.WaitGroup
		lasts := func(want time.Duration) {
			all.Go(func() {
				begun := time.Now()
				r := call(t.Context(), t, hang, `{}`)
				require.Equal(t, want, time.Since(begun))
				require.Contains(t, r.Error.Message, "unknown")
			})
		}
		lasts(11 * time.Minute)
		synctest.Wait()
		all.Go(func() { _, _ = s.Elicit(t.Context(), host.Elicitation{Message: "Sure?"}) })
		synctest.Wait()
		lasts(time.Minute)
		time.Sleep(15 * time.Minute)
		close(answer)
		all.Wait()

		// Consecutive questions cannot keep a call running without bound.
		lasts(31 * time.Minute)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		answer = make(chan struct{})
		for range 8 {
			all.Go(func() { _, _ = s.Elicit(ctx, host.Elicitation{Message: "Sure?"}) })
		}
		time.Sleep(time.Hour)
		cancel()
		close(answer)
		all.Wait()
	})
}

// However often a server asks, one question is open, few wait, none is put before
// the server is connected or after it is lost, and the size of a question is
// bounded.
func TestQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open, most, put atomic.Int32
		var longest atomic.Int64
		ask := func(s *fake, n int, e host.Elicitation) (cancelled int32) {
			var count atomic.Int32
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					if answer, err := s.Elicit(t.Context(), e); err == nil && answer.Action == host.ElicitCancel {
						count.Add(1)
					}
				})
			}
			all.Wait()
			return count.Load()
		}
		s := newFake(tool("a"))
		s.onList = func(context.Context) error {
			require.Equal(t, int32(700), ask(s, 700, host.Elicitation{Message: "Pay!"}))
			return nil
		}
		m := one(t, s, func(o *mcp.Options) {
			o.Elicit = func(_ context.Context, _ string, e host.Elicitation) (host.Elicited, error) {
				n := open.Add(1)
				most.Store(max(most.Load(), n))
				longest.Store(max(longest.Load(), int64(len(e.Message))))
				put.Add(1)
				time.Sleep(second)
				open.Add(-1)
				return host.Elicited{Action: host.ElicitAccept}, nil
			}
		})
		require.Equal(t, mcp.StateConnected, status(t, m, "s").State)
		require.Zero(t, put.Load())
		require.Equal(t, int32(700-9), ask(s, 700, host.Elicitation{Message: strings.Repeat("Pay now! ", 1<<20)}))
		require.Equal(t, int32(1), most.Load())
		require.Equal(t, int32(9), put.Load())
		require.LessOrEqual(t, longest.Load(), int64(5000))
		for _, e := range []host.Elicitation{{Schema: make([]byte, 1<<20)}, {URL: strings.Repeat("x", 1<<20)}, {URL: "https://example.org", ID: strings.Repeat("x", 1<<20)}} {
			require.Equal(t, int32(1), ask(s, 1, e))
		}
		require.Zero(t, ask(s, 1, host.Elicitation{Message: "Sure?", Schema: []byte(`{"type":"object"}`)}))
		s.drop(errBroken)
		synctest.Wait()
		require.Equal(t, int32(1), ask(s, 1, host.Elicitation{Message: "Sure?"}))
		require.Equal(t, int32(10), put.Load())
	})
}

// A question ends with its connection.
func TestQuestionOfOneThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(tool("a"))
		_ = one(t, s, func(o *mcp.Options) {
			o.Elicit = func(ctx context.Context, _ string, _ host.Elicitation) (host.Elicited, error) {
				<-ctx.Done()
				return host.Elicited{}, ctx.Err()
			}
		})
		begun := time.Now()
		time.AfterFunc(second, func() { s.drop(errBroken) })
		_, err := s.Elicit(t.Context(), host.Elicitation{Message: "Sure?"})
		require.Error(t, err)
		require.Equal(t, second, time.Since(begun))
	})
}

// forgetful returns a server that forgets its sessions, as after a restart.
func forgetful(t *testing.T, forget func(n int32) error) (m *mcp.Manager, dials, calls *atomic.Int32) {
	dials, calls = new(atomic.Int32), new(atomic.Int32)
	m = manage(t, mcp.Options{Servers: []mcp.Configured{stdio("s")}, Dialer: dialer{"s": func(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
		n := dials.Add(1)
		s := newFake(tool("a"))
		s.onCall = func(context.Context, toolCall) (mcp.CallResult, error) {
			calls.Add(1)
			return text("done"), forget(n)
		}
		return s.dial(ctx, spec, h)
	}}})
	require.True(t, m.Settled(t.Context()))
	return m, dials, calls
}

// A call that its server has certainly not begun to run is repeated once over a
// new connection; no other call is.
func TestRestartedServer(t *testing.T) {
	notRun := fault.Wrap(fault.MCPServerUnavailable, "x", "It does not know the session.", "Connect again.", mcp.ErrNotRun)
	synctest.Test(t, func(t *testing.T) {
		m, dials, calls := forgetful(t, func(n int32) error {
			if n == 1 {
				return notRun
			}
			return nil
		})
		var all sync.WaitGroup
		a := lookUp(t, m, "s", "a")
		for range 10 {
			all.Go(func() {
				begun := time.Now()
				r := call(t.Context(), t, a, `{}`)
				require.Nil(t, r.Error)
				require.LessOrEqual(t, time.Since(begun), 2*second)
			})
		}
		all.Wait()
		require.Equal(t, int32(2), dials.Load())
		require.LessOrEqual(t, calls.Load(), int32(20))
	})
	synctest.Test(t, func(t *testing.T) {
		m, _, calls := forgetful(t, func(int32) error { return notRun })
		r := call(t.Context(), t, lookUp(t, m, "s", "a"), `{}`)
		require.Equal(t, fault.MCPServerUnavailable, r.Error.Code)
		require.Equal(t, int32(2), calls.Load())
	})
	synctest.Test(t, func(t *testing.T) {
		m, dials, calls := forgetful(t, func(int32) error {
			return fault.New(fault.MCPServerUnavailable, "x", "It answered with 404.", "Look at its url.")
		})
		r := call(t.Context(), t, lookUp(t, m, "s", "a"), `{}`)
		require.Equal(t, fault.MCPServerUnavailable, r.Error.Code)
		require.Equal(t, int32(1), calls.Load())
		require.Equal(t, int32(1), dials.Load())
	})
}

// A call that fails together with its connection reports that its effect is
// unknown, even before the end of the connection is noticed elsewhere.
func TestFailsWithItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(tool("a"))
		s.onCall = func(context.Context, toolCall) (mcp.CallResult, error) {
			s.drop(errBroken)
			return mcp.CallResult{}, errBroken
		}
		m := one(t, s)
		busy := make(chan struct{})
		s.with(func(s *fake) { s.onList = func(context.Context) error { <-busy; return nil } })
		a := lookUp(t, m, "s", "a")
		s.Changed(mcp.Change{Tools: true}) // blocks the goroutine that watches the connection
		synctest.Wait()
		r := call(t.Context(), t, a, `{}`)
		require.Equal(t, fault.MCPServerUnavailable, r.Error.Code)
		require.Contains(t, r.Error.Message, "unknown")
		close(busy)
	})
}

package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// EX-16: servers start concurrently; one that hangs, panics or fails does not
// affect the others.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, also := newFake(tool("a"), tool("b")), newFake(tool("c"))
		hang := make(chan struct{})
		m := mcp.NewManager(mcp.Options{
			Dialer: dialer{
				"good": good.dial,
				"also": also.dial,
				"slow": func(ctx context.Context, _ mcp.ServerSpec, _ mcp.Handlers) (mcp.Session, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				},
				"deaf": func(context.Context, mcp.ServerSpec, mcp.Handlers) (mcp.Session, error) {
					<-hang
					return nil, errBroken
				},
				"panic": func(context.Context, mcp.ServerSpec, mcp.Handlers) (mcp.Session, error) { panic("no luck") },
				"nil":   func(context.Context, mcp.ServerSpec, mcp.Handlers) (mcp.Session, error) { return nil, nil },
				"gone": func(context.Context, mcp.ServerSpec, mcp.Handlers) (mcp.Session, error) {
					return nil, fault.New(fault.InvalidConfig, "dial", "There is no program gone.", "Install it.")
				},
				"no program": func(context.Context, mcp.ServerSpec, mcp.Handlers) (mcp.Session, error) {
					return nil, fault.Wrap(fault.MCPServerUnavailable, "dial", "There is no program x-tok-1234.", "Install it.", &exec.Error{Name: "x-tok-1234", Err: exec.ErrNotFound})
				},
				"who": func(context.Context, mcp.ServerSpec, mcp.Handlers) (mcp.Session, error) {
					return nil, fault.New(fault.MCPSignInRequired, "dial", "It wants to know who asks.", "Sign in.")
				},
			},
			Servers: []mcp.Configured{
				stdio("good"), stdio("also"), stdio("slow"), stdio("deaf"), stdio("panic"), stdio("nil"), stdio("gone"), stdio("who"),
				{ServerSpec: mcp.ServerSpec{Name: "no program", Command: "x-tok-1234", Env: map[string]string{"TOKEN": "tok-1234"}}},
				{ServerSpec: mcp.ServerSpec{Name: "tcp", TCP: "localhost:1"}},
				{ServerSpec: mcp.ServerSpec{Name: "none"}},
				{ServerSpec: mcp.ServerSpec{Name: "both", Command: "x", URL: "http://localhost"}},
				{ServerSpec: mcp.ServerSpec{Name: "odd", URL: "http://localhost", Transport: mcp.TransportStdio}},
				{ServerSpec: mcp.ServerSpec{Name: "ws", URL: "ws://localhost", Transport: "websocket"}},
				{ServerSpec: mcp.ServerSpec{Name: "blocked", Command: "x"}, Blocked: fault.New(fault.InvalidConfig, "x", "It may not.", "")},
				{ServerSpec: mcp.ServerSpec{Name: "off", Command: "x"}, Disabled: true},
			},
		})
		require.Equal(t, fault.NotInitialized, fault.CodeOf(status(t, m, "good").Error))
		m.Start(t.Context())
		synctest.Wait()
		require.NoError(t, status(t, m, "slow").Error, "it has not failed yet")
		synctest.Wait()
		// Every status is available at once, although two servers hang.
		for name, want := range map[string]struct {
			state mcp.State
			code  fault.Code
			again bool
		}{
			"good": {mcp.StateConnected, "", false}, "also": {mcp.StateConnected, "", false},
			"slow": {mcp.StateConnecting, "", false}, "deaf": {mcp.StateConnecting, "", false},
			"panic": {mcp.StateDisconnected, fault.MCPServerUnavailable, true}, "nil": {mcp.StateDisconnected, fault.MCPServerUnavailable, true},
			"gone": {mcp.StateDisconnected, fault.InvalidConfig, false}, "who": {mcp.StateDisconnected, fault.MCPSignInRequired, false},
			"no program": {mcp.StateDisconnected, fault.MCPServerUnavailable, false},
			"tcp":        {mcp.StateUnsupported, fault.InvalidConfig, false}, // EX-18
			"none":       {mcp.StateDisconnected, fault.InvalidConfig, false}, "both": {mcp.StateDisconnected, fault.InvalidConfig, false},
			"odd": {mcp.StateDisconnected, fault.InvalidConfig, false}, "ws": {mcp.StateUnsupported, fault.InvalidConfig, false},
			"blocked": {mcp.StateBlocked, fault.InvalidConfig, false}, "off": {mcp.StateDisabled, "", false},
		} {
			st := status(t, m, name)
			require.Equal(t, want.state, st.State, name)
			if st.State != mcp.StateConnecting {
				require.Equal(t, want.code, fault.CodeOf(st.Error), "%s: %v", name, st.Error)
			}
			require.Equal(t, want.again, !st.Next.IsZero(), name)
			if f := fault.As(st.Error); f != nil && st.State == mcp.StateUnsupported {
				require.Contains(t, f.Message, name)
				require.NotEmpty(t, f.Remedy)
			}
		}
		require.Equal(t, []string{"a", "b"}, status(t, m, "good").Tools)
		require.Len(t, m.Tools("also"), 1)

		brief, cancel := context.WithTimeout(t.Context(), second)
		defer cancel()
		require.False(t, m.Settled(brief))
		begun := time.Now()
		require.True(t, m.Settled(t.Context()))
		require.LessOrEqual(t, time.Since(begun), 33*second)
		for _, name := range []string{"slow", "deaf"} {
			require.Contains(t, status(t, m, name).Error.Error(), "not ready within 30s", name)
			require.GreaterOrEqual(t, status(t, m, name).Took, 30*second)
		}
		close(hang)
		require.NoError(t, m.Close())
		require.NoError(t, m.Close())
		require.True(t, m.Settled(t.Context()))
		require.Equal(t, 1, good.count(&good.closed))
		require.Equal(t, mcp.StateDisconnected, status(t, m, "good").State)
		require.Equal(t, fault.NotInitialized, fault.CodeOf(m.Restart(t.Context(), "good")))
	})
}

// A server that was never connected is given up after a few attempts with growing
// delays, and Restart starts over.
func TestGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries []time.Time
		var refuse atomic.Bool
		refuse.Store(true)
		s := newFake(tool("a"))
		m := manage(t, mcp.Options{Servers: []mcp.Configured{stdio("s")}, Dialer: dialer{"s": func(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
			tries = append(tries, time.Now())
			if refuse.Load() {
				return nil, errBroken
			}
			return s.dial(ctx, spec, h)
		}}})
		require.True(t, m.Settled(t.Context()))
		st := status(t, m, "s")
		require.Equal(t, 1, st.Attempts)
		require.InDelta(t, 1.1, time.Until(st.Next).Seconds(), 0.15)
		require.Contains(t, st.Error.Error(), "broken pipe")
		time.Sleep(time.Hour)
		st = status(t, m, "s")
		require.Len(t, tries, 4)
		require.Equal(t, 4, st.Attempts)
		require.True(t, st.Next.IsZero())
		for i, least := range []time.Duration{second, 2 * second, 4 * second} {
			require.GreaterOrEqual(t, tries[i+1].Sub(tries[i]), least)
			require.LessOrEqual(t, tries[i+1].Sub(tries[i]), least*5/4)
		}
		require.ErrorContains(t, m.Restart(t.Context(), "s"), "broken pipe")
		require.Equal(t, 1, status(t, m, "s").Attempts)
		refuse.Store(false)
		require.NoError(t, m.Restart(t.Context(), "s"))
		require.Equal(t, mcp.StateConnected, status(t, m, "s").State)
		require.Zero(t, status(t, m, "s").Attempts)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(m.Restart(t.Context(), "x")))
	})
}

// A server that was connected once is never given up; its tools stay registered
// for a while.
func TestReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refuse atomic.Bool
		var tries atomic.Int32
		var last atomic.Pointer[fake]
		told := new(changes)
		m := manage(t, mcp.Options{Changed: told.told, Servers: []mcp.Configured{stdio("s")}, Dialer: dialer{"s": func(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
			tries.Add(1)
			if refuse.Load() {
				return nil, fault.New(fault.InvalidConfig, "dial", "There is no program.", "Install it.")
			}
			s := newFake(tool("a"))
			s.stderr = []string{"one", "two"}
			last.Store(s)
			return s.dial(ctx, spec, h)
		}}})
		require.True(t, m.Settled(t.Context()))
		kept := lookUp(t, m, "s", "a")

		time.Sleep(time.Hour)
		last.Load().drop(errBroken)
		synctest.Wait()
		st := status(t, m, "s")
		require.Equal(t, mcp.StateDisconnected, st.State)
		require.Contains(t, st.Error.Error(), "broken pipe")
		require.Equal(t, []string{"one", "two"}, st.Stderr)
		require.Len(t, m.Tools("s"), 1)
		require.Equal(t, 1, last.Load().count(&last.Load().closed))
		// A call waits for the server to reconnect.
		begun := time.Now()
		require.Contains(t, call(t.Context(), t, kept, `{}`).LLMContent.String(), "called a")
		require.LessOrEqual(t, time.Since(begun), 2*second)
		require.Equal(t, mcp.StateConnected, status(t, m, "s").State)

		refuse.Store(true)
		last.Load().drop(nil)
		begun = time.Now()
		r := call(t.Context(), t, kept, `{}`)
		require.Equal(t, fault.MCPServerUnavailable, r.Error.Code)
		require.LessOrEqual(t, time.Since(begun), 30*second)
		require.NotEmpty(t, r.Error.Remedy)
		time.Sleep(90*second - time.Since(begun))
		require.Len(t, m.Tools("s"), 1)
		time.Sleep(time.Minute)
		require.Empty(t, m.Tools("s"))
		require.Empty(t, status(t, m, "s").Tools)
		before := told.number("s")
		tries.Store(0)
		time.Sleep(time.Hour)
		require.InDelta(t, 66, tries.Load(), 10) // one attempt a minute, without end
		require.Greater(t, told.number("s"), before)

		refuse.Store(false)
		time.Sleep(time.Minute)
		require.Len(t, m.Tools("s"), 1)
		require.Equal(t, mcp.StateConnected, status(t, m, "s").State)
		require.Contains(t, call(t.Context(), t, kept, `{}`).LLMContent.String(), "called a")
	})
}

// A connection that breaks repeatedly is not restored at a growing rate.
func TestFlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries int
		m := mcp.NewManager(mcp.Options{Servers: []mcp.Configured{stdio("s")}, Dialer: dialer{"s": func(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
			tries++
			s := newFake(tool("a"))
			if tries <= 100 {
				time.AfterFunc(time.Millisecond, func() { s.drop(errBroken) })
			}
			return s.dial(ctx, spec, h)
		}}})
		begun := time.Now()
		m.Start(t.Context())
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		require.Equal(t, 101, tries)
		require.Equal(t, mcp.StateConnected, status(t, m, "s").State)
		require.Len(t, m.Tools("s"), 1)
		require.Greater(t, time.Since(begun), 70*time.Minute)
		require.NoError(t, m.Close())
	})
}

func TestDisable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(tool("a"))
		told := new(changes)
		dials := 0
		m := manage(t, mcp.Options{Changed: told.told, Servers: []mcp.Configured{stdio("s"), {ServerSpec: mcp.ServerSpec{Name: "off", Command: "x"}, Disabled: true}},
			Dialer: dialer{
				"s": func(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
					dials++
					if dials > 1 {
						s = newFake(tool("b"))
					}
					return s.dial(ctx, spec, h)
				},
				"off": newFake(tool("c")).dial,
			}})
		require.True(t, m.Settled(t.Context()))
		a := lookUp(t, m, "s", "a")
		require.NoError(t, m.Disable("s"))
		require.NoError(t, m.Disable("s"))
		require.Equal(t, mcp.StateDisabled, status(t, m, "s").State)
		require.Empty(t, m.Tools("s"))
		require.Equal(t, 1, s.count(&s.closed))
		r := call(t.Context(), t, a, `{}`)
		require.Equal(t, fault.MCPServerUnavailable, r.Error.Code)
		require.Contains(t, r.Error.Message, "disabled")
		time.Sleep(time.Hour)
		require.Equal(t, 1, dials)
		require.NoError(t, m.Restart(t.Context(), "s"))
		require.Equal(t, []string{"b"}, status(t, m, "s").Tools)
		require.NoError(t, m.Restart(t.Context(), "off"))
		require.Equal(t, []string{"c"}, status(t, m, "off").Tools)
		require.Error(t, m.Disable("x"))
	})
}

// Restart returns when its ctx ends, and ends an attempt that hangs.
func TestRestartOfOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, mcp.Options{Servers: []mcp.Configured{stdio("s")}, Dialer: dialer{"s": func(ctx context.Context, _ mcp.ServerSpec, _ mcp.Handlers) (mcp.Session, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}})
		ctx, cancel := context.WithTimeout(t.Context(), 5*second)
		defer cancel()
		require.Equal(t, fault.Cancelled, fault.CodeOf(m.Restart(ctx, "s")))
		require.Equal(t, mcp.StateConnecting, status(t, m, "s").State)
	})
}

// An attempt during which the user may have to sign in may take minutes; any
// other is late by then.
func TestTimeToSignIn(t *testing.T) {
	for name, tt := range map[string]struct {
		spec mcp.ServerSpec
		want mcp.State
	}{
		"a person signs in": {mcp.ServerSpec{URL: "https://example.org", OAuth: &mcp.OAuthSpec{Enabled: true}}, mcp.StateConnected},
		"nobody does":       {mcp.ServerSpec{URL: "https://example.org", OAuth: &mcp.OAuthSpec{}}, mcp.StateDisconnected},
		"a program":         {mcp.ServerSpec{Command: "x", OAuth: &mcp.OAuthSpec{Enabled: true}}, mcp.StateDisconnected},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.spec.Name = "s"
				m := manage(t, mcp.Options{Servers: []mcp.Configured{{ServerSpec: tt.spec}}, Dialer: dialer{"s": func(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
					select {
					case <-time.After(5 * time.Minute):
						return newFake().dial(ctx, spec, h)
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}}})
				require.True(t, m.Settled(t.Context()))
				require.Equal(t, tt.want, status(t, m, "s").State)
			})
		})
	}
}

// A panic in any method of a session affects only its server, and as little of
// that as possible.
func TestPanics(t *testing.T) {
	for method, fatal := range map[string]bool{
		"Info": true, "Done": true, "Tools": true, "Resources": false, "ResourceTemplates": false, "Prompts": false,
		"Call": false, "ReadResource": false, "Prompt": false, "RootsChanged": false, "Stderr": false, "Err": false, "Close": false,
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, good := newFake(tool("a")), newFake(tool("g"))
				s.panics = method
				c := stdio("s")
				c.Headers = map[string]string{"Authorization": "Bearer tok-123456"}
				m := manage(t, mcp.Options{Dialer: dialer{"s": s.dial, "good": good.dial}, Servers: []mcp.Configured{c, stdio("good")}})
				require.True(t, m.Settled(t.Context()))
				st := status(t, m, "s")
				if fatal {
					require.Equal(t, mcp.StateDisconnected, st.State)
					require.Contains(t, fault.As(st.Error).Message, "boom in "+method)
				} else {
					require.Equal(t, mcp.StateConnected, st.State, st.Error)
					inv, err := lookUp(t, m, "s", "a").Build(nil)
					require.NoError(t, err)
					r, err := inv.Execute(t.Context(), nil)
					if method == "Call" {
						defect := new(tools.Defect)
						require.ErrorAs(t, err, &defect)
						require.NotContains(t, err.Error(), "tok-123456")
						require.NotEmpty(t, defect.Stack)
					} else {
						require.NoError(t, err)
						require.Nil(t, r.Error)
					}
					_, err = m.Read(t.Context(), "s", "x:1")
					require.Equal(t, method == "ReadResource", err != nil)
					_, err = m.Prompt(t.Context(), "s", "p", nil)
					require.Equal(t, method == "Prompt", err != nil)
					m.RootsChanged()
					synctest.Wait()
					s.drop(errBroken)
					synctest.Wait()
					require.Equal(t, mcp.StateDisconnected, status(t, m, "s").State)
				}
				require.NotContains(t, fmt.Sprint(status(t, m, "s")), "tok-123456")
				require.Equal(t, mcp.StateConnected, status(t, m, "good").State)
			})
		})
	}
}

// No secret of a spec appears in any output, whoever quotes it.
func TestSecrets(t *testing.T) {
	secrets := []string{"hdr-s3cret", "env-s3cret-value", "client-s3cret", "query-s3cret", "pass-s3cret", "0f9a8b7c6d5e4f3a2b1c"}
	all := strings.Join(secrets, " and ")
	c := mcp.Configured{ServerSpec: mcp.ServerSpec{
		Name: "s", URL: "https://user:pass-s3cret@host/mcp?key=query-s3cret",
		Headers: map[string]string{"Authorization": "Bearer hdr-s3cret"},
		Env:     map[string]string{"API_KEY": "env-s3cret-value", "X": "0f9a8b7c6d5e4f3a2b1c", "MODE": "production"},
		OAuth:   &mcp.OAuthSpec{ClientSecret: "client-s3cret"},
	}}
	clean := func(t *testing.T, text string) {
		t.Helper()
		for _, s := range secrets {
			require.NotContains(t, text, s)
		}
	}
	for name, err := range map[string]error{
		"plain": errors.New("refused with " + all),
		"fault": fault.Wrap(fault.MCPServerUnavailable, "dial", "It refused "+all, "Look at "+all, errors.New(all)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				m := manage(t, mcp.Options{Logger: logger(&log), Servers: []mcp.Configured{c}, Dialer: dialer{"s": func(context.Context, mcp.ServerSpec, mcp.Handlers) (mcp.Session, error) { return nil, err }}})
				require.True(t, m.Settled(t.Context()))
				st := status(t, m, "s")
				f := fault.As(st.Error)
				clean(t, fmt.Sprintf("%v %+v %s %s %s", st, f, f.Line(), f.Error(), f.Display()))
				require.NoError(t, m.Close())
				require.Contains(t, log.String(), "refused")
				clean(t, log.String())
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newFake(tool("a"))
		s.stderr = []string{"production with " + all}
		s.onCall = func(context.Context, toolCall) (mcp.CallResult, error) {
			return mcp.CallResult{}, errors.New("sent " + all)
		}
		var log strings.Builder
		m := manage(t, mcp.Options{Logger: logger(&log), Servers: []mcp.Configured{c}, Dialer: dialer{"s": s.dial}})
		require.True(t, m.Settled(t.Context()))
		s.Log(host.LogEntry{Level: host.LogError, Data: []byte(`"says ` + all + `"`)})
		r := call(t.Context(), t, lookUp(t, m, "s", "a"), `{}`)
		require.Equal(t, fault.MCPToolError, r.Error.Code)
		clean(t, fmt.Sprintf("%v %s", r, r.Error.Error()))
		require.Contains(t, fmt.Sprint(status(t, m, "s").Stderr), "production")
		clean(t, fmt.Sprint(status(t, m, "s")))
		s.drop(errors.New(all))
		synctest.Wait()
		clean(t, fmt.Sprint(status(t, m, "s"), status(t, m, "s").Error.Error()))
		require.NoError(t, m.Close())
		require.Contains(t, log.String(), "says [masked]")
		clean(t, log.String())
	})
}

// An error in a list other than that of the tools does not affect the rest.
func TestListsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(tool("a"))
		s.onList = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		s.stderr = []string{"stuck"}
		m := one(t, s)
		st := status(t, m, "s")
		require.Equal(t, mcp.StateDisconnected, st.State)
		require.Contains(t, st.Error.Error(), "not ready within")
		require.Contains(t, st.Error.Error(), "stuck")
		require.Equal(t, []string{"stuck"}, st.Stderr)
		require.Equal(t, 1, s.count(&s.closed))
	})
}

// All methods run concurrently under the race detector.
func TestAtOnce(t *testing.T) {
	d := dialer{}
	o := mcp.Options{Dialer: d, Changed: func(string) {}}
	var mu sync.Mutex
	live := map[*fake]bool{}
	for i := range 5 {
		name := fmt.Sprint("s", i)
		d[name] = func(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
			s := newFake(tool("a"))
			mu.Lock()
			live[s] = true
			mu.Unlock()
			return s.dial(ctx, spec, h)
		}
		o.Servers = append(o.Servers, stdio(name))
	}
	m := manage(t, o)
	require.True(t, m.Settled(t.Context()))
	var all sync.WaitGroup
	for i := range 5 {
		name := fmt.Sprint("s", i)
		a := lookUp(t, m, name, "a")
		for range 50 {
			all.Go(func() { call(t.Context(), t, a, `{}`) })
			all.Go(func() { _ = m.Status(); _ = m.Resources(""); _ = m.Prompts(); _ = m.Instructions(); m.RootsChanged() })
		}
		all.Go(func() { _ = m.Restart(t.Context(), name) })
		all.Go(func() { _ = m.Disable(name); _ = m.Restart(t.Context(), name) })
	}
	all.Wait()
	require.NoError(t, m.Close())
	mu.Lock()
	defer mu.Unlock()
	for s := range live {
		require.Positive(t, s.count(&s.closed))
	}
}

package server_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/stretchr/testify/require"
)

// still is a server over HTTP in a synctest bubble, with a fake clock.
type still struct {
	t *testing.T
	h http.Handler
}

// send sends a request in the background until it is answered or ctx ends. The
// answer received so far may be read after synctest.Wait.
func (s still) send(ctx context.Context, method, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, server.Path, io.NopCloser(strings.NewReader(body))).WithContext(ctx)
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	go s.h.ServeHTTP(w, r)
	synctest.Wait()
	return w
}

// begin begins a session and returns the header that identifies it.
func (s still) begin() string {
	s.t.Helper()
	w := s.send(s.t.Context(), "POST", strings.Replace(hello, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
	require.Equal(s.t, 200, w.Code, w.Body)
	return "Mcp-Session-Id: " + w.Header().Get("Mcp-Session-Id")
}

// EX-20: an idle session ends, and a session in use does not.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		shop := newShop()
		s := server.New(options(shop))
		w := still{t, s.Handler(server.HTTPOptions{IdleTime: idle})}
		status := func(session string) int {
			return w.send(t.Context(), "POST", request(9, "ping", "{}"), session).Code
		}

		listening := w.begin()
		ctx, leave := context.WithCancel(t.Context())
		w.send(ctx, "GET", "", listening) // an open stream is a client
		running := w.begin()
		ctx, hangUp := context.WithCancel(t.Context())
		w.send(ctx, "POST", call(2, "block"), running)
		hangUp() // before 2026-07-28 that cancels nothing
		forgotten := w.begin()
		time.Sleep(idle - time.Second)
		used := w.begin()
		require.EqualValues(t, 0, shop.closed.Load())
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 1, shop.closed.Load())
		require.Equal(t, 404, status(forgotten))
		require.Equal(t, 200, status(used))

		for range 5 {
			time.Sleep(idle - time.Second)
			require.Equal(t, 200, status(used))
		}
		require.EqualValues(t, 1, shop.closed.Load())
		require.Zero(t, shop.cancelled.Load())
		require.Equal(t, 200, status(running))
		require.Equal(t, 200, status(listening))
		leave()
		time.Sleep(idle + time.Second)
		require.Equal(t, 404, status(listening))
		require.Equal(t, 404, status(used))
		require.Equal(t, 200, status(running))
		require.EqualValues(t, 3, shop.closed.Load())
		require.NoError(t, s.Close())
		require.EqualValues(t, 1, shop.cancelled.Load())
		require.EqualValues(t, 4, shop.closed.Load())
	})
}

// EX-20: a client that disconnects for good while it is asked does not keep its
// session; one that is connected, or reconnects in time, does.
func TestGoneWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		shop := newShop()
		s := server.New(options(shop))
		w := still{t, s.Handler(server.HTTPOptions{IdleTime: idle, Sessions: 1})}
		session := w.begin()
		ctx, vanish := context.WithCancel(t.Context())
		asked := w.send(ctx, "POST", call(2, "ask"), session)
		require.Contains(t, asked.Body.String(), "elicitation/create")
		time.Sleep(10 * idle)
		require.EqualValues(t, 1, shop.running.Load(), "a person may take long")
		vanish()
		time.Sleep(idle - time.Second)
		require.Equal(t, 200, w.send(t.Context(), "POST", request(3, "ping", "{}"), session).Code)
		time.Sleep(idle - time.Second)
		require.EqualValues(t, 1, shop.running.Load())
		require.Equal(t, 503, w.send(t.Context(), "POST", hello).Code)
		time.Sleep(2 * time.Second)
		require.Zero(t, shop.running.Load())
		require.EqualValues(t, 1, shop.closed.Load())
		w.begin() // its place is free
		require.NoError(t, s.Close())
	})
}

// EX-20: a call whose answers never arrive is cancelled after a time, and its
// Service closed.
func TestAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = time.Minute
		shop := newShop()
		o := options(shop)
		o.AnswerTime = limit
		s := server.New(o)
		w := still{t, s.Handler(server.HTTPOptions{Stateless: true})}
		ask := func() string {
			return stateOf(t, w.send(t.Context(), "POST", modernCall(1, "ask", ""), modernHeaders("ask")...).Body.String())
		}
		answer := func(state string) int {
			return w.send(t.Context(), "POST", modernAnswer(state), modernHeaders("ask")...).Code
		}
		late := ask()
		time.Sleep(2 * time.Second)
		timely := ask()
		time.Sleep(limit - time.Second)
		require.EqualValues(t, 1, shop.running.Load(), "the first is over, the second waits")
		require.EqualValues(t, 1, shop.closed.Load())
		require.Equal(t, 400, answer(late))
		require.Equal(t, 200, answer(timely))
		require.EqualValues(t, 2, shop.closed.Load())
		require.NoError(t, s.Close())
	})
}

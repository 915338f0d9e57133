package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/stretchr/testify/require"
)

// asked calls a tool that asks, without a session, and returns the state for its
// answers.
func (w *web) asked(headers ...string) string {
	w.t.Helper()
	res, body := w.do("POST", modernCall(1, "ask", ""), modernHeaders("ask", headers...)...)
	require.Equal(w.t, 200, res.StatusCode, body)
	return stateOf(w.t, body)
}

// stateOf returns the state of a result that asks.
func stateOf(t *testing.T, body string) string {
	t.Helper()
	_, data, ok := strings.Cut(body, "data: ")
	require.True(t, ok, body)
	var r struct {
		Result struct{ ResultType, RequestState string }
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(data)).Decode(&r))
	require.Equal(t, "input_required", r.Result.ResultType, body)
	return r.Result.RequestState
}

// modernAnswer returns a request that answers it.
func modernAnswer(state string) string {
	return modernCall(2, "ask", `,"requestState":"`+state+`","inputResponses":{"question1":{"action":"accept","content":{"name":"Ada"}}}`)
}

// answer sends such a request.
func (w *web) answer(state string, headers ...string) (int, string) {
	w.t.Helper()
	res, body := w.do("POST", modernAnswer(state), modernHeaders("ask", headers...)...)
	return res.StatusCode, body
}

// EX-20: a call without a session waits with its Service for its answers, and
// only for those of its own client.
func TestWaitsForAnswers(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{Stateless: true, Tokens: []string{"one", "two"}})
	one, two := "Authorization: Bearer one", "Authorization: Bearer two"
	state := w.asked(one)
	require.EqualValues(t, 1, w.shop.opened.Load())
	require.Zero(t, w.shop.closed.Load(), "its Service is not closed meanwhile")
	status, body := w.answer(state, two)
	require.Equal(t, 400, status, "another's")
	require.Contains(t, body, "-32602")
	status, _ = w.answer(state[:len(state)-2]+"AA", one)
	require.Equal(t, 400, status, "changed")
	status, body = w.answer(state, one)
	require.Equal(t, 200, status)
	require.Contains(t, body, "Ada")
	status, _ = w.answer(state, one)
	require.Equal(t, 400, status, "used")
	require.EqualValues(t, 1, w.shop.opened.Load(), "answers need no Service of their own")
	settled(t, "closed", func() bool { return w.shop.closed.Load() == 1 })
}

// EX-20: closing the server cancels waiting calls and closes their Services.
func TestCloseWhileWaiting(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{Stateless: true})
	state := w.asked()
	w.asked()
	require.NoError(t, w.s.Close())
	require.EqualValues(t, 2, w.shop.closed.Load())
	require.Zero(t, w.shop.running.Load())
	status, _ := w.answer(state)
	require.Equal(t, 503, status)
}

// EX-20: the number of waiting calls is bounded; a further one learns that no
// client can answer.
func TestTooManyWait(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{Stateless: true}, func(o *server.Options) { o.Waiting = 2 })
	first := w.asked()
	w.asked()
	_, body := w.do("POST", modernCall(1, "ask", ""), modernHeaders("ask")...)
	require.Contains(t, body, "nobody_to_ask")
	status, _ := w.answer(first)
	require.Equal(t, 200, status)
	w.asked()
}

// EX-20: no client uses up the places of others: they are counted by token, and
// without one by connection.
func TestTooManyWaitOfOne(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{Stateless: true, Tokens: []string{"one", "two"}}, func(o *server.Options) { o.WaitingEach = 2 })
	one, two := "Authorization: Bearer one", "Authorization: Bearer two"
	first := w.asked(one)
	w.asked(one)
	_, body := w.do("POST", modernCall(1, "ask", ""), modernHeaders("ask", one)...)
	require.Contains(t, body, "nobody_to_ask")
	w.asked(two)
	status, _ := w.answer(first, one)
	require.Equal(t, 200, status)
	w.asked(one)

	w = serveWeb(t, server.HTTPOptions{Stateless: true}, func(o *server.Options) { o.WaitingEach = 1 })
	w.c.Transport.(*http.Transport).DisableKeepAlives = true // a connection each
	w.asked()
	w.asked()
}

// EX-20: a state of one server is invalid at another with other keys.
func TestStateOfAnotherServer(t *testing.T) {
	a, b := serveWeb(t, server.HTTPOptions{Stateless: true}), serveWeb(t, server.HTTPOptions{Stateless: true})
	status, _ := b.answer(a.asked())
	require.Equal(t, 400, status)
}

package natsbus_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/core/bus"
)

type (
	request  = bus.ToolConfirmationRequest
	response = bus.ToolConfirmationResponse
)

const patience = 20 * time.Second

// serve starts a server on a port of 127.0.0.1; 0 selects a free one.
func serve(t testing.TB, port int) *server.Server {
	t.Helper()
	if port == 0 {
		port = server.RANDOM_PORT
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoLog: true, NoSigs: true})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(patience))
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

func connect(t testing.TB, s *server.Server) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// session is a bus with a bridge.
type session struct {
	*bus.MessageBus
	bridge *natsbus.Bridge
}

func attach(t testing.TB, nc *nats.Conn, o natsbus.Options) session {
	t.Helper()
	b := bus.New(bus.Options{})
	if o.Session == "" {
		o.Session = "s1"
	}
	bridge, err := natsbus.Attach(t.Context(), nc, b, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bridge.Close()); require.NoError(t, b.Close()) })
	return session{b, bridge}
}

// front is a front end that stores the messages that it receives.
type front struct {
	*natsbus.Viewer
	questions chan *natsbus.Question
	settled   chan natsbus.Settled
	events    chan natsbus.Event
}

func watch(t testing.TB, nc *nats.Conn, o natsbus.WatchOptions) front {
	t.Helper()
	f := front{questions: make(chan *natsbus.Question, 2000), settled: make(chan natsbus.Settled, 2000), events: make(chan natsbus.Event, 2000)}
	o.Question, o.Settled, o.Event = func(q *natsbus.Question) { f.questions <- q }, func(s natsbus.Settled) { f.settled <- s }, func(e natsbus.Event) { f.events <- e }
	if o.Actor == "" {
		o.Actor = "ann"
	}
	v, err := natsbus.Watch(t.Context(), nc, o)
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	t.Cleanup(func() { require.NoError(t, v.Close()) })
	f.Viewer = v
	return f
}

func next[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		require.FailNow(t, "nothing arrived")
		panic("unreachable")
	}
}

type reply struct {
	answer response
	err    error
}

func ask(t testing.TB, b *bus.MessageBus, id string) <-chan reply {
	t.Helper()
	replies := make(chan reply, 1)
	go func() {
		a, err := bus.Ask(t.Context(), b, request{CorrelationID: id, ToolCall: bus.ToolCall{Name: "run_shell_command", Args: []byte(`{"command":"make < a & b"}`)}, Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel}})
		replies <- reply{a, err}
	}()
	return replies
}

func yes(id string) response {
	return response{CorrelationID: id, Confirmed: true, Outcome: bus.ProceedOnce}
}

// HB-03: a question is answered from another connection, the first answer wins, and all front ends
// learn of the end and of who answered.
func TestFirstAnswerWins(t *testing.T) {
	s := serve(t, 0)
	var actors []string
	one := attach(t, connect(t, s), natsbus.Options{Answered: func(actor string, q bus.Message, _ bus.Answer) error {
		actors = append(actors, actor+" "+string(bus.TypeOf(q)))
		return nil
	}})
	ann, bob := watch(t, connect(t, s), natsbus.WatchOptions{}), watch(t, connect(t, s), natsbus.WatchOptions{Actor: "bob", Session: "s1"})
	asked := ask(t, one.MessageBus, "1")
	q, same := next(t, ann.questions), next(t, bob.questions)
	require.Equal(t, q.Digest, same.Digest)
	require.JSONEq(t, `{"command":"make < a & b"}`, string(q.Message.(request).ToolCall.Args))
	require.False(t, q.Expires.IsZero())
	require.NoError(t, q.Answer(t.Context(), yes("1")))
	require.Equal(t, reply{yes("1"), nil}, next(t, asked))
	for _, f := range []front{ann, bob} {
		require.Equal(t, natsbus.Settled{Session: "s1", ID: "1", Actor: "ann", Err: bus.ErrAnswered}, next(t, f.settled))
	}
	require.ErrorIs(t, same.Answer(t.Context(), response{CorrelationID: "1", Outcome: bus.Cancel}), bus.ErrAnswered)
	require.Equal(t, []string{"ann tool-confirmation-request"}, actors)

	form := make(chan bus.AskUserResponse, 1)
	go func() {
		a, _ := bus.Ask(t.Context(), one.MessageBus, bus.AskUserRequest{CorrelationID: "2", Questions: []bus.UserQuestion{{Question: "Which?"}}})
		form <- a
	}()
	q = next(t, bob.questions)
	require.NoError(t, q.Answer(t.Context(), bus.AskUserResponse{CorrelationID: "2", Answers: map[string]string{"0": "that"}}))
	require.Equal(t, "that", next(t, form).Answers["0"])
}

// HB-03: an answer to another content, another question, with an outcome that is not offered or
// of another version is refused, and the question stays open.
func TestRefusedAnswers(t *testing.T) {
	s := serve(t, 0)
	refuse := true
	one := attach(t, connect(t, s), natsbus.Options{Answered: func(string, bus.Message, bus.Answer) error {
		if refuse {
			return bus.ErrClosed
		}
		return nil
	}})
	nc := connect(t, s)
	f := watch(t, nc, natsbus.WatchOptions{})
	asked := ask(t, one.MessageBus, "1")
	q := next(t, f.questions)
	send := func(session, digest string, a bus.Answer) error {
		return natsbus.SendAnswer(t.Context(), nc, "", "ann", session, digest, a)
	}
	require.ErrorIs(t, send("s1", strings.Repeat("0", 64), yes("1")), natsbus.ErrDigest)
	require.ErrorIs(t, send("s1", "", yes("1")), natsbus.ErrDigest)
	require.ErrorIs(t, send("s1", q.Digest, yes("2")), bus.ErrUnknownQuestion)
	require.ErrorIs(t, send("s1", q.Digest, response{CorrelationID: "1", Confirmed: true, Outcome: bus.ProceedAlwaysAndSave}), natsbus.ErrOutcome)
	require.ErrorIs(t, send("s1", q.Digest, response{CorrelationID: "1", RequiresUserConfirmation: true}), bus.ErrInvalid)
	require.ErrorIs(t, send("s1", q.Digest, bus.AskUserResponse{CorrelationID: "1"}), bus.ErrInvalid)
	require.ErrorIs(t, send("s2", q.Digest, yes("1")), natsbus.ErrGone)
	require.Error(t, send("s1.>", q.Digest, yes("1")))
	require.ErrorIs(t, send("s1", q.Digest, yes("1")), natsbus.ErrRefused)
	for version, want := range map[string]string{"": "version", "2": "version", "1": "invalid"} {
		m := nats.NewMsg("fettle.v1.answer.s1.ann")
		m.Header.Set("Fettle-Version", version)
		m.Data = []byte(`{"type":"tool-output"}`)
		got, err := nc.RequestMsg(m, patience)
		require.NoError(t, err)
		require.Equal(t, want, got.Header.Get("Fettle-Error"))
	}
	require.Empty(t, asked)
	refuse = false
	require.NoError(t, q.Answer(t.Context(), yes("1")))
	require.NoError(t, next(t, asked).err)
}

// HB-03: no answer in time is no, and so is a question that is too large to be shown whole.
func TestNoAnswerIsNo(t *testing.T) {
	s := serve(t, 0)
	one := attach(t, connect(t, s), natsbus.Options{AnswerWithin: 50 * time.Millisecond})
	f := watch(t, connect(t, s), natsbus.WatchOptions{})
	require.ErrorIs(t, next(t, ask(t, one.MessageBus, "1")).err, bus.ErrNoApprover)
	require.ErrorIs(t, next(t, f.settled).Err, bus.ErrNoApprover)
	require.ErrorIs(t, next(t, f.questions).Answer(t.Context(), yes("1")), bus.ErrNoApprover)

	unlimited := attach(t, connect(t, s), natsbus.Options{Session: "group.s2", AnswerWithin: -1})
	_, err := bus.Ask(t.Context(), unlimited.MessageBus, request{Details: bus.Confirmation{Title: strings.Repeat("x", 2<<20)}})
	require.ErrorIs(t, err, bus.ErrNoApprover)
}

// HB-03: a front end that arrives late receives the open questions, each once; events are as
// published, without secrets; messages that it cannot read are counted.
func TestLateFrontEnd(t *testing.T) {
	s := serve(t, 0)
	one := attach(t, connect(t, s), natsbus.Options{Mask: func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }})
	first := watch(t, connect(t, s), natsbus.WatchOptions{})
	asked := ask(t, one.MessageBus, "1")
	next(t, first.questions)
	grouped := attach(t, connect(t, s), natsbus.Options{Session: "group.s2"})
	late := watch(t, connect(t, s), natsbus.WatchOptions{})
	require.NoError(t, one.Publish(bus.ToolOutput{CallID: "c", Chunk: "password hunter2 <b>\n"}))
	e := next(t, late.events)
	require.Equal(t, natsbus.Event{Session: "s1", Seq: 1, Message: bus.ToolOutput{CallID: "c", Chunk: "password *** <b>\n"}}, e)
	require.NoError(t, next(t, late.questions).Answer(t.Context(), yes("1")))
	require.NoError(t, next(t, asked).err)
	require.Empty(t, first.questions) // it has seen it
	asked = ask(t, grouped.MessageBus, "1")
	q := next(t, late.questions)
	require.Equal(t, "group.s2", q.Session)
	require.NoError(t, q.Answer(t.Context(), yes("1")))
	require.NoError(t, next(t, asked).err)
	nc := connect(t, s)
	require.NoError(t, nc.Publish("fettle.v1.event.s1", []byte("{}")))
	require.NoError(t, nc.Publish("fettle.v1.ask.s1", []byte("{}")))
	require.Eventually(t, func() bool { return late.Refused() == 2 }, patience, time.Millisecond)
}

// HB-03: a slow front end and a dead server slow no session; lost messages are counted.
func TestBackPressure(t *testing.T) {
	s := serve(t, 0)
	one := attach(t, connect(t, s), natsbus.Options{})
	release := make(chan struct{})
	v, err := natsbus.Watch(t.Context(), connect(t, s), natsbus.WatchOptions{Queue: 10, Event: func(natsbus.Event) { <-release }})
	require.NoError(t, err)
	fast := watch(t, connect(t, s), natsbus.WatchOptions{})
	start := time.Now()
	const events = 1000
	for i := range events {
		require.NoError(t, one.Publish(bus.ToolOutput{CallID: "c", Chunk: fmt.Sprint(i)}))
		if i%100 == 0 {
			require.True(t, one.bridge.Flush(t.Context()))
		}
	}
	require.True(t, one.bridge.Flush(t.Context()))
	require.Less(t, time.Since(start), patience/2)
	sent := events - int(one.bridge.Dropped())
	for range sent {
		next(t, fast.events)
	}
	close(release)
	require.Eventually(t, func() bool { // a later event shows the gap
		_ = one.Publish(bus.ToolOutput{CallID: "c"})
		return v.Missed() > uint64(sent/2)
	}, patience, 10*time.Millisecond)
	require.NoError(t, v.Close())
}

// HB-03: after a restart of the server a session continues, and its open questions are answered.
func TestReconnect(t *testing.T) {
	s := serve(t, 0)
	one := attach(t, connect(t, s), natsbus.Options{})
	f := watch(t, connect(t, s), natsbus.WatchOptions{})
	first := ask(t, one.MessageBus, "1")
	q := next(t, f.questions)
	port := s.Addr().(*net.TCPAddr).Port
	s.Shutdown()
	s.WaitForShutdown()
	second := ask(t, one.MessageBus, "2") // while there is no server
	require.NoError(t, one.Publish(bus.ToolOutput{CallID: "c"}))
	serve(t, port)
	other := next(t, f.questions)
	require.Equal(t, "2", other.ID)
	require.Eventually(t, func() bool { return q.Answer(t.Context(), yes("1")) == nil }, patience, 10*time.Millisecond)
	require.NoError(t, next(t, first).err)
	require.NoError(t, other.Answer(t.Context(), yes("2")))
	require.NoError(t, next(t, second).err)
}

// HB-03: the questions of a session that was killed end for front ends when the session is
// connected again; other sessions keep theirs.
func TestKilledSession(t *testing.T) {
	s := serve(t, 0)
	b := bus.New(bus.Options{})
	dying := connect(t, s)
	bridge, err := natsbus.Attach(t.Context(), dying, b, natsbus.Options{Session: "app.s1"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = bridge.Close(); _ = b.Close() })
	f := watch(t, connect(t, s), natsbus.WatchOptions{})
	_ = ask(t, b, "1")
	first := next(t, f.questions)
	other := attach(t, connect(t, s), natsbus.Options{Session: "app.s2"})
	kept := ask(t, other.MessageBus, "1")
	q := next(t, f.questions)
	dying.Close() // nothing more is sent, as after SIGKILL
	again := attach(t, connect(t, s), natsbus.Options{Session: "app.s1"})
	require.Equal(t, natsbus.Settled{Session: "app.s1", ID: "1", Err: natsbus.ErrGone}, next(t, f.settled))
	require.ErrorIs(t, first.Answer(t.Context(), yes("1")), bus.ErrUnknownQuestion)
	require.NoError(t, q.Answer(t.Context(), yes("1")))
	require.NoError(t, next(t, kept).err)
	require.NoError(t, again.Publish(bus.ToolOutput{CallID: "c"}))
	next(t, f.events)
}

// A name that is not one token of a subject is refused: it could reach other sessions.
func TestCheckToken(t *testing.T) {
	for name, ok := range map[string]bool{"a-1_Z": true, "": false, "a.b": false, "*": false, ">": false, "a b": false, "ä": false, strings.Repeat("a", 129): false} {
		require.Equal(t, ok, natsbus.CheckToken(name) == nil, name)
	}
	_, err := natsbus.Attach(context.Background(), nil, nil, natsbus.Options{Session: "a.*"})
	require.Error(t, err)
}

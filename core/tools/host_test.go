package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// host records messages. It answers each question with the roots, after ask, if set, has returned.
type host struct {
	ask func(ctx context.Context) error

	mu       sync.Mutex
	messages []string
}

func (h *host) Progress(p tools.Progress) { h.record("progress " + p.Message) }
func (h *host) Log(e tools.LogEntry)      { h.record("log " + string(e.Data)) }

func (h *host) Ask(ctx context.Context, questions ...tools.Question) ([]tools.Reply, error) {
	if h.ask != nil {
		if err := h.ask(ctx); err != nil {
			return nil, err
		}
	}
	replies := make([]tools.Reply, len(questions))
	for i := range replies {
		replies[i].Roots = []tools.Root{{URI: "file:///w"}}
	}
	return replies, nil
}

func (h *host) record(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages = append(h.messages, what)
}

// A call without a host has the empty host.
func TestHostOf(t *testing.T) {
	for _, ctx := range []context.Context{t.Context(), tools.WithHost(t.Context(), nil), tools.WithHost(tools.WithHost(t.Context(), new(host)), nil)} {
		none := tools.HostOf(ctx)
		none.Progress(tools.Progress{Done: 1})
		none.Log(tools.LogEntry{Level: tools.LogInfo})
		_, err := none.Ask(ctx, tools.Question{Roots: &tools.RootsQuestion{}})
		require.Equal(t, fault.NoApprover, fault.CodeOf(err))
		require.NotEmpty(t, fault.As(err).Remedy)
		within, end := tools.HostUntil(ctx)
		require.Equal(t, ctx, within)
		end()
	}
	h := new(host)
	inner := tools.WithHost(tools.WithHost(t.Context(), new(host)), h)
	require.Same(t, h, tools.HostOf(inner))
	within, cancel := context.WithCancel(inner)
	cancel()
	require.Same(t, h, tools.HostOf(within), "derived contexts have it too")
}

func TestHostUntil(t *testing.T) {
	h := new(host)
	ctx, end := tools.HostUntil(tools.WithHost(t.Context(), h))
	inTime := tools.HostOf(ctx)
	inTime.Progress(tools.Progress{Message: "half"})
	inTime.Log(tools.LogEntry{Data: json.RawMessage(`1`)})
	replies, err := inTime.Ask(ctx, tools.Question{Roots: &tools.RootsQuestion{}}, tools.Question{Roots: &tools.RootsQuestion{}})
	require.NoError(t, err)
	require.Len(t, replies, 2)
	h.ask = func(context.Context) error { return errors.New("no") }
	_, err = inTime.Ask(ctx)
	require.EqualError(t, err, "no")
	end()
	end()
	inTime.Progress(tools.Progress{Message: "late"})
	inTime.Log(tools.LogEntry{Data: json.RawMessage(`2`)})
	_, err = inTime.Ask(t.Context())
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.Equal(t, []string{"progress half", "log 1"}, h.messages)
}

// EX-20: a host that can disconnect does so during the call. Other hosts report false.
func TestHostUntilDisconnects(t *testing.T) {
	h := new(disconnectingHost)
	ctx, end := tools.HostUntil(tools.WithHost(t.Context(), h))
	p, ok := tools.HostOf(ctx).(tools.DisconnectingHost)
	require.True(t, ok)
	require.True(t, p.Disconnect(time.Second))
	require.Equal(t, []time.Duration{time.Second}, h.disconnects)
	end()
	require.False(t, p.Disconnect(time.Second))
	require.Len(t, h.disconnects, 1, "not after the call")

	ctx, end = tools.HostUntil(tools.WithHost(t.Context(), new(host)))
	defer end()
	p, ok = tools.HostOf(ctx).(tools.DisconnectingHost)
	require.True(t, !ok || !p.Disconnect(time.Second))
}

// disconnectingHost can disconnect.
type disconnectingHost struct {
	host
	disconnects []time.Duration
}

func (h *disconnectingHost) Disconnect(after time.Duration) bool {
	h.disconnects = append(h.disconnects, after)
	return true
}

// At the end of a call its questions end, whatever their answer.
func TestHostUntilEndsQuestions(t *testing.T) {
	asked := make(chan struct{})
	h := &host{ask: func(ctx context.Context) error {
		close(asked)
		<-ctx.Done()
		return nil // an answer, but too late
	}}
	ctx, end := tools.HostUntil(tools.WithHost(t.Context(), h))
	failure := make(chan error)
	go func() {
		_, err := tools.HostOf(ctx).Ask(t.Context(), tools.Question{Roots: &tools.RootsQuestion{}})
		failure <- err
	}()
	<-asked
	end()
	require.Equal(t, fault.Cancelled, fault.CodeOf(<-failure))
}

// end is safe for concurrent use with messages, and no message arrives after it has returned.
func TestHostUntilConcurrently(t *testing.T) {
	for range 50 {
		h := new(host)
		ctx, end := tools.HostUntil(tools.WithHost(t.Context(), h))
		var running sync.WaitGroup
		for range 4 {
			running.Go(func() {
				for range 20 {
					tools.HostOf(ctx).Progress(tools.Progress{Message: "x"})
					tools.HostOf(ctx).Log(tools.LogEntry{})
					_, _ = tools.HostOf(ctx).Ask(ctx)
				}
			})
		}
		end()
		h.mu.Lock()
		told := len(h.messages)
		h.mu.Unlock()
		running.Wait()
		require.Len(t, h.messages, told)
	}
}

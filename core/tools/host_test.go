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

// host records what it is told. It answers each question with the roots, once ask,
// where there is one, has returned.
type host struct {
	ask func(ctx context.Context) error

	mu    sync.Mutex
	heard []string
}

func (h *host) Progress(p tools.Progress) { h.hear("progress " + p.Message) }
func (h *host) Log(e tools.LogEntry)      { h.hear("log " + string(e.Data)) }

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

func (h *host) hear(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard = append(h.heard, what)
}

// A call that is made for nobody has a host all the same.
func TestHostOf(t *testing.T) {
	for _, ctx := range []context.Context{t.Context(), tools.WithHost(t.Context(), nil), tools.WithHost(tools.WithHost(t.Context(), new(host)), nil)} {
		nobody := tools.HostOf(ctx)
		nobody.Progress(tools.Progress{Done: 1})
		nobody.Log(tools.LogEntry{Level: tools.LogInfo})
		_, err := nobody.Ask(ctx, tools.Question{Roots: &tools.RootsQuestion{}})
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
	require.Same(t, h, tools.HostOf(within), "contexts that come from it have it too")
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
	require.Equal(t, []string{"progress half", "log 1"}, h.heard)
}

// EX-20: a host that can be sent away is sent away while it serves; one that
// cannot says so.
func TestHostUntilParts(t *testing.T) {
	h := new(partingHost)
	ctx, end := tools.HostUntil(tools.WithHost(t.Context(), h))
	p, ok := tools.HostOf(ctx).(tools.DisconnectingHost)
	require.True(t, ok)
	require.True(t, p.Disconnect(time.Second))
	require.Equal(t, []time.Duration{time.Second}, h.parted)
	end()
	require.False(t, p.Disconnect(time.Second))
	require.Len(t, h.parted, 1, "not after the call")

	ctx, end = tools.HostUntil(tools.WithHost(t.Context(), new(host)))
	defer end()
	p, ok = tools.HostOf(ctx).(tools.DisconnectingHost)
	require.True(t, !ok || !p.Disconnect(time.Second))
}

// partingHost can be sent away.
type partingHost struct {
	host
	parted []time.Duration
}

func (h *partingHost) Disconnect(after time.Duration) bool {
	h.parted = append(h.parted, after)
	return true
}

// A question that nobody waits for any more is given up, whatever comes of it.
func TestHostUntilGivesUpQuestions(t *testing.T) {
	asked := make(chan struct{})
	h := &host{ask: func(ctx context.Context) error {
		close(asked)
		<-ctx.Done()
		return nil // an answer, yet too late
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

// end and what comes at the same time do not disturb each other, and nothing is
// told once end has returned.
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
		told := len(h.heard)
		h.mu.Unlock()
		running.Wait()
		require.Len(t, h.heard, told)
	}
}

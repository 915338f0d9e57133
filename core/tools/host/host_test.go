package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// recordingHost records messages. It answers each question with the roots, after ask, if set, has returned.
type recordingHost struct {
	ask func(ctx context.Context) error

	mu       sync.Mutex
	messages []string
}

func (h *recordingHost) Progress(p host.Progress) { h.record("progress " + p.Message) }
func (h *recordingHost) Log(e host.LogEntry)      { h.record("log " + string(e.Data)) }

func (h *recordingHost) Ask(ctx context.Context, questions ...host.Question) ([]host.Reply, error) {
	if h.ask != nil {
		if err := h.ask(ctx); err != nil {
			return nil, err
		}
	}
	replies := make([]host.Reply, len(questions))
	for i := range replies {
		replies[i].Roots = []host.Root{{URI: "file:///w"}}
	}
	return replies, nil
}

func (h *recordingHost) record(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages = append(h.messages, what)
}

// A call without a host has the empty host.
func TestHostOf(t *testing.T) {
	for _, ctx := range []context.Context{t.Context(), host.NewContext(t.Context(), nil), host.NewContext(host.NewContext(t.Context(), new(recordingHost)), nil)} {
		none := host.FromContext(ctx)
		none.Progress(host.Progress{Done: 1})
		none.Log(host.LogEntry{Level: host.LogInfo})
		_, err := none.Ask(ctx, host.Question{Roots: &host.RootsQuestion{}})
		require.Equal(t, fault.NoApprover, fault.CodeOf(err))
		require.NotEmpty(t, fault.As(err).Remedy)
		within, end := host.Detachable(ctx)
		require.Equal(t, ctx, within)
		end()
	}
	h := new(recordingHost)
	inner := host.NewContext(host.NewContext(t.Context(), new(recordingHost)), h)
	require.Same(t, h, host.FromContext(inner))
	within, cancel := context.WithCancel(inner)
	cancel()
	require.Same(t, h, host.FromContext(within), "derived contexts have it too")
}

func TestHostUntil(t *testing.T) {
	h := new(recordingHost)
	ctx, end := host.Detachable(host.NewContext(t.Context(), h))
	inTime := host.FromContext(ctx)
	inTime.Progress(host.Progress{Message: "half"})
	inTime.Log(host.LogEntry{Data: json.RawMessage(`1`)})
	replies, err := inTime.Ask(ctx, host.Question{Roots: &host.RootsQuestion{}}, host.Question{Roots: &host.RootsQuestion{}})
	require.NoError(t, err)
	require.Len(t, replies, 2)
	h.ask = func(context.Context) error { return errors.New("no") }
	_, err = inTime.Ask(ctx)
	require.EqualError(t, err, "no")
	end()
	end()
	inTime.Progress(host.Progress{Message: "late"})
	inTime.Log(host.LogEntry{Data: json.RawMessage(`2`)})
	_, err = inTime.Ask(t.Context())
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.Equal(t, []string{"progress half", "log 1"}, h.messages)
}

// EX-20: a host that can disconnect does so during the call. Other hosts report false.
func TestHostUntilDisconnects(t *testing.T) {
	h := new(disconnectingHost)
	ctx, end := host.Detachable(host.NewContext(t.Context(), h))
	p, ok := host.FromContext(ctx).(host.DisconnectingHost)
	require.True(t, ok)
	require.True(t, p.Disconnect(time.Second))
	require.Equal(t, []time.Duration{time.Second}, h.disconnects)
	end()
	require.False(t, p.Disconnect(time.Second))
	require.Len(t, h.disconnects, 1, "not after the call")

	ctx, end = host.Detachable(host.NewContext(t.Context(), new(recordingHost)))
	defer end()
	p, ok = host.FromContext(ctx).(host.DisconnectingHost)
	require.True(t, !ok || !p.Disconnect(time.Second))
}

// disconnectingHost can disconnect.
type disconnectingHost struct {
	recordingHost
	disconnects []time.Duration
}

func (h *disconnectingHost) Disconnect(after time.Duration) bool {
	h.disconnects = append(h.disconnects, after)
	return true
}

// At the end of a call its questions end, whatever their answer.
func TestHostUntilEndsQuestions(t *testing.T) {
	asked := make(chan struct{})
	h := &recordingHost{ask: func(ctx context.Context) error {
		close(asked)
		<-ctx.Done()
		return nil // an answer, but too late
	}}
	ctx, end := host.Detachable(host.NewContext(t.Context(), h))
	failure := make(chan error)
	go func() {
		_, err := host.FromContext(ctx).Ask(t.Context(), host.Question{Roots: &host.RootsQuestion{}})
		failure <- err
	}()
	<-asked
	end()
	require.Equal(t, fault.Cancelled, fault.CodeOf(<-failure))
}

// end is safe for concurrent use with messages, and no message arrives after it has returned.
func TestHostUntilConcurrently(t *testing.T) {
	for range 50 {
		h := new(recordingHost)
		ctx, end := host.Detachable(host.NewContext(t.Context(), h))
		var running sync.WaitGroup
		for range 4 {
			running.Go(func() {
				for range 20 {
					host.FromContext(ctx).Progress(host.Progress{Message: "x"})
					host.FromContext(ctx).Log(host.LogEntry{})
					_, _ = host.FromContext(ctx).Ask(ctx)
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

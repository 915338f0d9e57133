package acp

import (
	"context"
	"sync"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/bus"
)

// attach connects the session to its bus until detach is called. detach returns once no
// question is open.
func (s *session) attach(ctx context.Context) (detach func()) {
	var asking sync.WaitGroup
	b := s.host.Bus()
	s.watcher = bus.Observe(ctx, b, func(_ context.Context, m bus.Message) { s.observe(m) })
	subscriptions := []*bus.Subscription{
		hear(ctx, b, &asking, s.ask),
		hear(ctx, b, &asking, s.questions),
		s.watcher,
	}
	return func() {
		for _, one := range subscriptions {
			one.Unsubscribe()
			<-one.Done()
		}
		asking.Wait()
		s.calls.stop()
	}
}

// hear passes the questions of one type to ask, each on its own goroutine, because an
// editor can show several at once. ask returns the answer, and whether there is one.
func hear[Q bus.Question[A], A bus.Answer](ctx context.Context, b *bus.MessageBus, asking *sync.WaitGroup, ask func(context.Context, Q) (A, bool)) *bus.Subscription {
	return bus.Subscribe(ctx, b, func(ctx context.Context, q Q) {
		asking.Go(func() {
			if answer, ok := ask(ctx, q); ok {
				_ = b.Publish(answer) // an answer that comes too late has no effect
			}
		})
	})
}

// observe reports the messages that concern the editor.
func (s *session) observe(m bus.Message) {
	switch m := m.(type) {
	case bus.ToolCallsUpdate:
		for _, c := range m.ToolCalls {
			s.calls.state(c)
		}
	case bus.ToolOutput:
		s.calls.print(m.CallID, m.Chunk)
	case bus.ConfigChanged:
		if m.Notice != "" {
			s.sendThought("Warning: " + m.Notice + "\n\n")
		}
		s.modeChanged()
	case bus.UpdatePolicy:
		s.sendThought("Remembered: " + approval.Remembered(m) + "\n\n")
	case bus.HookMessage:
		if m.Level != bus.HookRuns && m.Text != "" {
			s.sendThought(program.HookLine(m) + "\n\n")
		}
	}
}

// flush waits until the messages so far were reported.
func (s *session) flush(ctx context.Context) {
	s.watcher.Flush(context.WithoutCancel(ctx)) // observe does not block for longer than a write
}

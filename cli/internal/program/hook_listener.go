package program

import (
	"context"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/escape"
)

// HookListener collects messages of hooks until they are reported. Create one with
// [ListenHooks]. It is safe for concurrent use.
type HookListener struct {
	subscription *bus.Subscription
	mu           sync.Mutex
	messages     []bus.HookMessage
}

// ListenHooks collects the messages of hooks, except the notice that a hook runs,
// until ctx ends.
func ListenHooks(ctx context.Context, b *bus.MessageBus) *HookListener {
	h := &HookListener{}
	h.subscription = bus.Subscribe(ctx, b, func(_ context.Context, m bus.HookMessage) {
		if m.Level == bus.HookRuns {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.messages = append(h.messages, m)
	})
	return h
}

// Report passes each collected message once and in order: warnings to warn and all
// others to say. It waits for messages in transit until ctx ends.
func (h *HookListener) Report(ctx context.Context, say, warn func(string)) {
	h.subscription.Flush(ctx)
	h.mu.Lock()
	messages := h.messages
	h.messages = nil
	h.mu.Unlock()
	for _, m := range messages {
		if m.Level == bus.HookWarning {
			warn(HookLine(m))
		} else {
			say(HookLine(m))
		}
	}
}

// HookLine formats a message of a hook with the name of the hook.
func HookLine(m bus.HookMessage) string {
	if m.Hook == "" {
		return m.Text
	}
	return "hook " + escape.Clip(m.Hook, 60) + ": " + m.Text
}

// ReportHooks listens to the messages of hooks and returns a function that prints
// them.
func ReportHooks(ctx context.Context, p *Program, s Session) (tell func()) {
	ctx = context.WithoutCancel(ctx)
	heard := ListenHooks(ctx, s.MessageBus())
	return func() { heard.Report(ctx, p.PrintNotice, p.PrintNotice) }
}

// endingTime is the time that session end hooks may take after an interrupt.
const endingTime = 5 * time.Second

// EndSession runs the session end hooks, also after an interrupt.
func EndSession(ctx context.Context, c *config.Config, reason string) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), endingTime)
		defer cancel()
	}
	_ = c.Hooks().SessionEnding(ctx, reason) // a closed session has ended already
}

package program

import (
	"context"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/escape"
)

// HookListener keeps what hooks have said and nobody has told yet. [HearHooks] makes
// one. It is safe for concurrent use.
type HookListener struct {
	subscription *bus.Subscription
	mu           sync.Mutex
	said         []bus.HookMessage
}

// HearHooks listens to what hooks say, but for the notice that one runs, until ctx
// ends. The listener keeps it until Tell.
func HearHooks(ctx context.Context, b *bus.MessageBus) *HookListener {
	h := &HookListener{}
	h.subscription = bus.Subscribe(ctx, b, func(_ context.Context, m bus.HookMessage) {
		if m.Level == bus.HookRuns {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.said = append(h.said, m)
	})
	return h
}

// Tell tells, once and in order, what was heard until now: warnings by warn and all
// else by say. It waits for what is on its way, no longer than ctx lasts.
func (h *HookListener) Tell(ctx context.Context, say, warn func(string)) {
	h.subscription.Flush(ctx)
	h.mu.Lock()
	said := h.said
	h.said = nil
	h.mu.Unlock()
	for _, m := range said {
		if m.Level == bus.HookWarning {
			warn(HookLine(m))
		} else {
			say(HookLine(m))
		}
	}
}

// HookLine is what a hook says, with its name.
func HookLine(m bus.HookMessage) string {
	if m.Hook == "" {
		return m.Text
	}
	return "hook " + escape.Clip(m.Hook, 60) + ": " + m.Text
}

// HearAll listens to what hooks say, and returns what tells it.
func HearAll(ctx context.Context, p *Program, s Session) (tell func()) {
	ctx = context.WithoutCancel(ctx)
	heard := HearHooks(ctx, s.MessageBus())
	return func() { heard.Tell(ctx, p.Say, p.Say) }
}

// endingTime is how long hooks of a session's end may take after an interrupt.
const endingTime = 5 * time.Second

// EndSession runs the hooks of a session's end, after an interrupt too.
func EndSession(ctx context.Context, c *config.Config, reason string) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), endingTime)
		defer cancel()
	}
	_ = c.SessionEnding(ctx, reason) // a session that is closed has ended
}

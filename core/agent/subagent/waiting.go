package subagent

import (
	"context"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/tools"
)

// waiting pauses a run's clock while one of its calls waits for the user, according to the
// scheduler's bus messages.
type waiting struct {
	clock     *clock
	scheduler string          // id
	askTools  map[string]bool // the tools that ask the user

	mu     sync.Mutex
	inCall bool // calls are running
	paused bool
}

// watchWaiting starts to watch; the returned function ends that and waits for it.
func watchWaiting(ctx context.Context, b *bus.MessageBus, schedulerID string, all []tools.DeclarativeTool, c *clock) (*waiting, func()) {
	w := &waiting{clock: c, scheduler: schedulerID, askTools: make(map[string]bool)}
	if b == nil || schedulerID == "" {
		return w, func() {}
	}
	for _, t := range all {
		if spec := t.Spec(); slices.Contains(spec.Effects, tools.EffectAskUser) {
			w.askTools[spec.Name] = true
		}
	}
	s := bus.Observe(ctx, b, func(_ context.Context, m bus.Message) {
		if u, ok := m.(bus.ToolCallsUpdate); ok && u.SchedulerID == w.scheduler {
			w.set(slices.ContainsFunc(u.ToolCalls, w.waits))
		}
	})
	return w, func() {
		s.Unsubscribe()
		<-s.Done()
		w.end()
	}
}

// waits reports whether a call waits for an answer.
func (w *waiting) waits(c bus.ToolCallState) bool {
	return c.Status == bus.StatusAwaitingApproval || c.Status == bus.StatusExecuting && w.askTools[c.Name]
}

func (w *waiting) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inCall = true
}

// end records that no call is left; later messages about them are ignored.
func (w *waiting) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inCall = false
	w.pause(false)
}

func (w *waiting) set(waits bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pause(waits && w.inCall)
}

func (w *waiting) pause(is bool) {
	switch {
	case is && !w.paused:
		w.clock.pause()
	case !is && w.paused:
		w.clock.resume()
	}
	w.paused = is
}

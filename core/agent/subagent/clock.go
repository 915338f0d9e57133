package subagent

import (
	"context"
	"sync"
	"time"
)

// clock ends a run when its time limit is reached. Time in which this run, or a run inside it,
// waits for the user does not count. Unlike for the limit of a prompt, waits of concurrent runs do
// count. It is safe for concurrent use.
type clock struct {
	parent *clock // of the run that contains this one
	over   func()

	mu     sync.Mutex
	left   time.Duration
	since  time.Time // start of the current running period
	timer  *time.Timer
	pauses int
	ended  bool
}

// clockKey is the context key of a run's clock.
type clockKey struct{}

// startClock calls over after d, unless stop is called first. The returned context carries the
// clock, so that a run inside this one pauses both.
func startClock(ctx context.Context, d time.Duration, over func()) (context.Context, *clock) {
	c := &clock{over: over, left: d, since: time.Now()}
	c.parent, _ = ctx.Value(clockKey{}).(*clock)
	c.timer = time.AfterFunc(d, over)
	return context.WithValue(ctx, clockKey{}, c), c
}

// pause stops the clock until resume has been called as often.
func (c *clock) pause() {
	for ; c != nil; c = c.parent {
		c.pauseAlone()
	}
}

func (c *clock) pauseAlone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses++; c.pauses == 1 && !c.ended {
		c.timer.Stop()
		c.left -= time.Since(c.since)
	}
}

// resume continues the clock.
func (c *clock) resume() {
	for ; c != nil; c = c.parent {
		c.resumeAlone()
	}
}

func (c *clock) resumeAlone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses--; c.pauses == 0 && !c.ended {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

// stop ends the clock.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.timer.Stop()
}

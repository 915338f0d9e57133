package subagent

import (
	"context"
	"sync"
	"time"
)

// clock ends a run once its time is over, not counting the time that people take
// to answer a question of this run or of one inside it; that of runs beside it
// counts, unlike for the limit of a whole prompt. It is safe for concurrent use.
type clock struct {
	parent *clock // of the run that this one is part of
	over   func()

	mu     sync.Mutex
	left   time.Duration
	since  time.Time // when it began to run again
	timer  *time.Timer
	pauses int
	ended  bool
}

// clockKey is where a context has its run's clock.
type clockKey struct{}

// startClock calls over once d has passed, unless stop comes first. The clock
// goes with the context that is returned, so that a run inside this one stops
// both.
func startClock(ctx context.Context, d time.Duration, over func()) (context.Context, *clock) {
	c := &clock{over: over, left: d, since: time.Now()}
	c.parent, _ = ctx.Value(clockKey{}).(*clock)
	c.timer = time.AfterFunc(d, over)
	return context.WithValue(ctx, clockKey{}, c), c
}

// pause stops the time until resume has been called as often.
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

// resume lets the time go on.
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

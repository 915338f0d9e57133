package process

import (
	"context"
	"time"
)

// limits are the conditions on which a child is ended.
type limits struct {
	total, idle time.Duration   // negative: no limit
	grace       time.Duration   // between SIGTERM and SIGKILL
	over        <-chan struct{} // closed when the child has printed too much; nil: no limit
}

// supervise waits until the child has ended, and ends it when ctx ends, closing is closed or a
// limit is reached.
func (c *child) supervise(ctx context.Context, l limits, closing <-chan struct{}) Ending {
	total, idle := after(l.total), after(l.idle)
	defer total.Stop()
	defer idle.Stop()
	var why Ending
	for why == "" {
		select {
		case <-c.exited:
			return ""
		case <-ctx.Done():
			why = Cancelled
		case <-closing:
			why = Closed
		case <-l.over:
			why = OutputLimit
		case <-total.C:
			why = TotalLimit
		case <-idle.C:
			if rest := l.idle - c.silent(); rest > 0 {
				idle.Reset(rest)
				continue
			}
			why = IdleLimit
		}
	}
	select {
	case <-c.exited: // at the same moment
		return ""
	default:
	}
	c.end(l.grace)
	return why
}

// after returns a timer of limit; it never fires if limit is negative.
func after(limit time.Duration) *time.Timer {
	if limit < 0 {
		t := time.NewTimer(time.Hour)
		t.Stop()
		return t
	}
	return time.NewTimer(limit)
}

// end ends every process that belongs to the command, and waits for them.
func (c *child) end(grace time.Duration) {
	if grace >= 0 {
		c.terminate()
		c.gone(grace)
	}
	c.halt()
	const killing = 5 * time.Second // processes that outlast this are stuck in the kernel
	for end := time.Now().Add(killing); ; {
		c.kill() // even if all seem gone: a process may be invisible
		if c.gone(20*time.Millisecond) || time.Now().After(end) {
			break
		}
	}
	<-c.exited
}

// gone reports whether the shell and every process that belongs to it ended within limit.
func (c *child) gone(limit time.Duration) bool {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	select {
	case <-c.exited:
	case <-timeout.C:
		return false
	}
	const step = 5 * time.Millisecond
	again := time.NewTicker(step)
	defer again.Stop()
	for c.lives() {
		select {
		case <-again.C:
		case <-timeout.C:
			return false
		}
	}
	return true
}

// finish stops the reading, and releases the resources of the ended process. It returns the exit
// status, and the processes left running.
func (c *child) finish() (Exit, group) {
	<-c.exited
	c.beforeFinish()
	over, alone := c.starter.(*overlaid)
	if alone && over.remain() {
		c.kill()
	}
	select {
	case <-c.drained:
	default:
		c.stopReading()
	}
	c.closeOutputs()
	var left group
	if !alone {
		left = c.leftBehind(time.Since(c.began))
	}
	exit := c.reap(c.cmd)
	c.ended(exit)
	c.moved, c.moveError = c.removed()
	if alone {
		c.unrecorded = over.err
	}
	return exit, left
}

package tui

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// host is where a model's work runs that must not hold up the screen: goroutines
// that [host.end] ends and waits for, and clocks. What they bring is posted to the
// mailbox.
type host struct {
	box *mailbox
	now func() time.Time
	// after posts m once d has passed.
	after func(d time.Duration, m any)
	// spawn runs work until it returns, with a ctx that cancel and the end of the
	// host end. A panic in it is posted.
	spawn func(work func(ctx context.Context)) (cancel func())
	end   func()
}

// panicMsg tells that a goroutine has panicked.
type panicMsg struct{ err error }

func newHost(ctx context.Context, now func() time.Time) *host {
	h := &host{box: newMailbox(), now: now}
	ctx, cancelAll := context.WithCancel(ctx)
	var working sync.WaitGroup
	h.after = func(d time.Duration, m any) { time.AfterFunc(d, func() { h.box.post(m) }) }
	h.spawn = func(work func(context.Context)) func() {
		ctx, cancel := context.WithCancel(ctx)
		working.Go(func() {
			defer cancel()
			defer func() {
				if p := recover(); p != nil {
					h.box.post(panicMsg{panicked(p)})
				}
			}()
			work(ctx)
		})
		return cancel
	}
	h.end = func() {
		cancelAll()
		working.Wait()
		h.box.close()
	}
	return h
}

// panicked makes an error of what was recovered, with the stack of the panic.
func panicked(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }

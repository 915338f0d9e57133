package tui

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// host runs work that must not block the screen: goroutines that [host.end] cancels
// and waits for, and timers. Their results are posted to the mailbox.
type host struct {
	box *mailbox
	now func() time.Time
	// after posts m once d has passed.
	after func(d time.Duration, m any)
	// spawn runs work in a goroutine. Its ctx ends when cancel is called or the host
	// ends. A panic in it is posted.
	spawn func(work func(ctx context.Context)) (cancel func())
	// during runs work on the calling goroutine, with a ctx that ends with the host.
	during func(work func(ctx context.Context))
	end    func()
}

// panicMsg reports the panic of a goroutine.
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
	h.during = func(work func(context.Context)) { work(ctx) }
	h.end = func() {
		cancelAll()
		working.Wait()
		h.box.close()
	}
	return h
}

// panicked converts a recovered value to an error with the stack of the panic.
func panicked(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }

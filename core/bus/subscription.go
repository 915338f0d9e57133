package bus

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
)

// Subscription is one handler's share in a bus. It is safe for concurrent use.
type Subscription struct {
	bus    *MessageBus
	kind   Type // "" for all
	watch  bool // an observer
	handle func(context.Context, Message)
	ctx    context.Context // the handler's
	cancel context.CancelCauseFunc
	wake   chan struct{} // holds one: there may be something in the queue
	done   chan struct{}

	// Guarded by bus.mu.
	queue   []queued
	head    int          // index of the first in queue
	waiting [classes]int // how many are queued
	taken   int          // how many were taken out of queue, ever
	flushes []flush      // who waits for what was queued before
	removed bool
	dropped int64
}

// flush is somebody who waits until a subscription is through with messages.
type flush struct {
	upTo    int           // that many were taken
	through chan struct{} // closed then
}

// queued is a message on its way to a handler.
type queued struct {
	m Message
	q *openQuestion // for who may answer it; else nil
}

// Subscribe calls handle for each message of type M, one at a time, in order.
//
// The subscription lasts until ctx ends, [Subscription.Unsubscribe] or
// [MessageBus.Close]; if ctx has ended already, or the bus is closed, it has
// ended when Subscribe returns. The handler's ctx ends with it. For a question
// its ctx also ends as soon as the question does, with the reason as its
// cause: [ErrAnswered], by this front end or another, or [ErrWithdrawn]. A
// dialog shown meanwhile should then be closed.
//
// Who subscribes to a question is one who can answer it, from the handler or
// later, by publishing its answer, or says by [Subscription.Decline] that it
// cannot; questions that are still open come first. One that ends before its
// turn is not handed over.
//
// A handler may publish, ask, subscribe and unsubscribe; while it asks, its
// own subscription stands still. It must not close the bus. One that panics
// gives up the question that it was called for, and is called again for the
// next message.
//
// Subscribe panics if M is not one of the package's message structs.
func Subscribe[M Message](ctx context.Context, b *MessageBus, handle func(context.Context, M)) *Subscription {
	var zero M
	if !known(zero) {
		panic(fmt.Sprintf("bus: Subscribe: %T is not a message type", zero))
	}
	return b.subscribe(ctx, &Subscription{
		kind:   zero.Type(),
		handle: func(ctx context.Context, m Message) { handle(ctx, m.(M)) },
	})
}

// SubscribeAll is [Subscribe] for messages of every type. Its subscriber is
// one who can answer all questions.
func SubscribeAll(ctx context.Context, b *MessageBus, handle func(context.Context, Message)) *Subscription {
	return b.subscribe(ctx, &Subscription{handle: handle})
}

// Observe is [SubscribeAll] for who only watches, as a log or a recorder: it
// is nobody who can answer, so that questions that it alone sees end with
// [ErrNoApprover].
func Observe(ctx context.Context, b *MessageBus, handle func(context.Context, Message)) *Subscription {
	return b.subscribe(ctx, &Subscription{handle: handle, watch: true})
}

func (b *MessageBus) subscribe(ctx context.Context, s *Subscription) *Subscription {
	s.bus = b
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.wake = make(chan struct{}, 1)
	s.done = make(chan struct{})
	ended := ctx.Err() != nil
	stop := context.AfterFunc(ctx, func() { s.end(context.Cause(ctx)) })

	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || s.removed || ended {
		stop()
		s.removed = true
		s.cancel(ErrClosed)
		close(s.done)
		return s
	}
	switch {
	case s.watch:
		b.observers = append(b.observers, s)
	case s.kind == "":
		b.all = append(b.all, s)
	default:
		b.typed[s.kind] = append(b.typed[s.kind], s)
	}
	for _, q := range b.openQuestions() {
		if s.watch || s.kind != "" && s.kind != q.m.Type() {
			continue
		}
		s.push(q.m, q)
	}
	b.handlers.Add(1)
	go s.run(stop)
	return s
}

// Unsubscribe ends the subscription: what is queued is given up. It does not
// wait for a handler that runs, or is just being called, whose ctx it ends; so
// it may be called from there. [Subscription.Done] tells when that has
// returned. Unsubscribing again does nothing.
func (s *Subscription) Unsubscribe() { s.end(context.Canceled) }

// Decline gives up the question with a correlation id: this subscriber cannot
// answer it, and others still may. It ends the ctx of a handler that has the
// question; one to whom it was not handed over yet does not get it. If nobody
// else has it, it ends with [ErrNoApprover]. A question that this subscription
// does not have, or no longer has, is left as it is.
func (s *Subscription) Decline(id string) {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	if q := s.bus.open[id]; q != nil {
		s.bus.giveUp(q, s)
	}
}

// Done is closed once the subscription has ended and its handler does not run
// and never will again. A handler must not wait for it.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Dropped returns how many messages this subscription has missed because its
// queue was full.
func (s *Subscription) Dropped() int64 {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	return s.dropped
}

// Flush waits until the handler is through with all that was published before it
// is called, and reports true; false where ctx or the subscription ends first. A
// handler must not call it for its own subscription, as it would wait for itself.
func (s *Subscription) Flush(ctx context.Context) bool {
	through := make(chan struct{})
	s.bus.mu.Lock()
	s.flushes = append(s.flushes, flush{s.taken + len(s.queue) - s.head, through})
	s.bus.mu.Unlock()
	select {
	case s.wake <- struct{}{}: // in case that there is nothing to wait for
	default:
	}
	select {
	case <-through:
		return true
	case <-ctx.Done():
	case <-s.done:
	}
	return false
}

func (s *Subscription) end(cause error) {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.bus.remove(s, cause)
}

// remove ends a subscription, and with it the questions that nobody else has.
// b.mu is held.
func (b *MessageBus) remove(s *Subscription, cause error) {
	if s.removed {
		return
	}
	s.removed = true
	s.queue, s.head = nil, 0
	is := func(other *Subscription) bool { return other == s }
	switch {
	case s.watch:
		b.observers = slices.DeleteFunc(b.observers, is)
	case s.kind == "":
		b.all = slices.DeleteFunc(b.all, is)
	default:
		b.typed[s.kind] = slices.DeleteFunc(b.typed[s.kind], is)
	}
	s.cancel(cause)
	for _, q := range b.openQuestions() {
		b.giveUp(q, s)
	}
}

// push queues a message, or drops it. b.mu is held.
func (s *Subscription) push(m Message, q *openQuestion) {
	if c := classOf(m); s.waiting[c] < s.bus.queue {
		s.waiting[c]++
	} else {
		s.dropped++
		s.bus.dropped++
		return
	}
	if q != nil {
		q.holders[s] = nil
	}
	if len(s.queue) == cap(s.queue) && s.head > len(s.queue)/2 { // the front is free: move up
		n := copy(s.queue, s.queue[s.head:])
		clear(s.queue[n:])
		s.queue, s.head = s.queue[:n], 0
	}
	s.queue = append(s.queue, queued{m, q})
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// class is what a message is to a queue, which bounds each on its own.
type class int

const (
	output class = iota
	event
	dialog // a question or an answer
	classes
)

func classOf(m Message) class {
	switch m.(type) {
	case question, Answer:
		return dialog
	case ToolOutput:
		return output
	}
	return event
}

// run hands over message by message until the subscription ends.
func (s *Subscription) run(stop func() bool) {
	defer s.bus.handlers.Done()
	defer close(s.done)
	defer stop()
	defer func() { s.end(context.Cause(s.ctx)) }() // in case that ctx ended, or that the handler ended the goroutine
	for {
		ctx, next, ok := s.pop()
		if ok {
			s.call(ctx, next)
			continue
		}
		select {
		case <-s.wake:
		case <-s.ctx.Done():
			return
		}
	}
}

// pop takes the first message that is still to be handed over, with the ctx
// for its handler.
func (s *Subscription) pop() (context.Context, queued, bool) {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	for s.ctx.Err() == nil {
		s.flushed()
		if s.head == len(s.queue) {
			break
		}
		next := s.queue[s.head]
		s.queue[s.head] = queued{}
		s.head++
		s.taken++
		if s.head == len(s.queue) {
			s.queue, s.head = s.queue[:0], 0
		}
		s.waiting[classOf(next.m)]--
		if next.q == nil {
			return s.ctx, next, true
		}
		if ctx, ok := next.q.begin(s); ok {
			return ctx, next, true
		}
	}
	return nil, queued{}, false
}

// flushed tells those who wait for no more than was handed over. The handler does
// not run, and b.mu is held.
func (s *Subscription) flushed() {
	s.flushes = slices.DeleteFunc(s.flushes, func(f flush) bool {
		if f.upTo > s.taken {
			return false
		}
		close(f.through)
		return true
	})
}

// call runs the handler; its panic ends here.
func (s *Subscription) call(ctx context.Context, next queued) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		stack := debug.Stack()
		if next.q != nil {
			s.bus.mu.Lock()
			s.bus.giveUp(next.q, s)
			s.bus.mu.Unlock()
		}
		s.bus.report(fmt.Errorf("bus: a handler of %s panicked: %v\n%s", next.m.Type(), v, stack))
	}()
	s.handle(ctx, next.m)
}

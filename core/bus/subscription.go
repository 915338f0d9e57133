package bus

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
)

// Subscription is one handler's subscription to a bus. It is safe for concurrent use.
type Subscription struct {
	bus    *MessageBus
	kind   Type // "": all types
	watch  bool // an observer
	handle func(context.Context, Message)
	ctx    context.Context // the handler's
	cancel context.CancelCauseFunc
	wake   chan struct{} // buffered, capacity 1: the queue may have a message
	done   chan struct{}

	// Guarded by bus.mu.
	queue   []queued
	head    int          // index of the first in queue
	waiting [classes]int // number of queued messages by class
	popped  int          // number of messages removed from queue so far
	flushes []flush      // waiting calls of Flush
	busy    bool         // the handler runs, or is about to
	removed bool
	dropped int64
}

// flush is a call of Flush that waits for earlier messages.
type flush struct {
	upTo    int           // value of popped to wait for
	through chan struct{} // closed when reached
}

// queued is a message in a queue.
type queued struct {
	m Message
	q *openQuestion // for a subscriber that may answer it; else nil
}

// Subscribe calls handle for each message of type M, one at a time, in order.
//
// The subscription lasts until ctx ends, [Subscription.Unsubscribe] or [MessageBus.Close]. If ctx has already ended, or
// the bus is closed, the subscription has ended when Subscribe returns. The handler's ctx ends with the subscription.
// The ctx of a question also ends with the question, and its cause is the reason: [ErrAnswered] for an answer of any
// front end, or [ErrWithdrawn]. A dialog for the question should then close.
//
// A subscriber of a question can answer it, in the handler or later, by publishing the answer. If it cannot answer, it
// calls [Subscription.Decline]. Questions that are still open are delivered first. A question that ends before its turn
// is not delivered.
//
// A handler may publish, ask, subscribe and unsubscribe; its own subscription is blocked while it asks. It must not
// close the bus. If it panics, the subscription declines the question of that call and continues with the next message.
//
// Subscribe panics if M is not one of the package's message structs.
func Subscribe[M Message](ctx context.Context, b *MessageBus, handle func(context.Context, M)) *Subscription {
	var zero M
	if !known(zero) {
		panic(fmt.Sprintf("bus: Subscribe: %T is not a message type", zero))
	}
	return b.subscribe(ctx, &Subscription{
		kind:   zero.messageType(),
		handle: func(ctx context.Context, m Message) { handle(ctx, m.(M)) },
	})
}

// SubscribeAll is [Subscribe] for messages of all types. The subscriber counts as able to answer all questions.
func SubscribeAll(ctx context.Context, b *MessageBus, handle func(context.Context, Message)) *Subscription {
	return b.subscribe(ctx, &Subscription{handle: handle})
}

// Observe is [SubscribeAll] for a subscriber that only watches, such as a log or a recorder. It cannot answer, so a
// question that only observers see ends with [ErrNoApprover].
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
		if b.typed == nil {
			b.typed = make(map[Type][]*Subscription)
		}
		b.typed[s.kind] = append(b.typed[s.kind], s)
	}
	for _, q := range b.openQuestions() {
		if s.watch || s.kind != "" && s.kind != q.m.messageType() {
			continue
		}
		s.push(q.m, q)
	}
	b.handlers.Add(1)
	go s.run(stop)
	return s
}

// Unsubscribe ends the subscription and drops its queued messages. It ends the ctx of a running handler without waiting
// for the handler, so a handler may call it. [Subscription.Done] reports the end of the handler. Further calls have no
// effect.
func (s *Subscription) Unsubscribe() { s.end(context.Canceled) }

// Decline reports that this subscriber cannot answer the question with the given correlation id; others still may. It
// ends the ctx of a handler that has the question; a question that was not delivered yet is not delivered. If no other
// subscriber has it, the question ends with [ErrNoApprover]. Decline ignores a question that this subscription does not
// have.
func (s *Subscription) Decline(id string) {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	if q := s.bus.open[id]; q != nil {
		s.bus.giveUp(q, s)
	}
}

// Done returns a channel that is closed once the subscription has ended and its handler has returned for the last time.
// A handler must not wait for it.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Dropped returns the number of messages that this subscription missed because its queue was full.
func (s *Subscription) Dropped() int64 {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	return s.dropped
}

// Flush waits until the handler has returned for all messages published before the call, and returns true. It returns
// false if ctx or the subscription ends first. A handler must not call it for its own subscription, because Flush would
// wait for the handler.
func (s *Subscription) Flush(ctx context.Context) bool {
	s.bus.mu.Lock()
	if !s.busy && s.head == len(s.queue) && s.ctx.Err() == nil {
		s.bus.mu.Unlock()
		return true
	}
	through := make(chan struct{})
	s.flushes = append(s.flushes, flush{s.popped + len(s.queue) - s.head, through})
	s.bus.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
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

// remove ends a subscription, and the questions that only it could answer. b.mu is held.
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

// class is a kind of message with its own queue bound.
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

// run calls the handler for each message until the subscription ends.
func (s *Subscription) run(stop func() bool) {
	defer s.bus.handlers.Done()
	defer close(s.done)
	defer stop()
	defer func() { s.end(context.Cause(s.ctx)) }() // ctx ended, or the handler ended the goroutine
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

// pop removes the next message to deliver, and returns it with the ctx for the handler.
func (s *Subscription) pop() (_ context.Context, _ queued, ok bool) {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.busy = false
	defer func() { s.busy = ok }()
	for s.ctx.Err() == nil {
		s.flushed()
		if s.head == len(s.queue) {
			break
		}
		next := s.queue[s.head]
		s.queue[s.head] = queued{}
		s.head++
		s.popped++
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

// flushed ends the calls of Flush that wait only for delivered messages. The handler does not run, and b.mu is held.
func (s *Subscription) flushed() {
	s.flushes = slices.DeleteFunc(s.flushes, func(f flush) bool {
		if f.upTo > s.popped {
			return false
		}
		close(f.through)
		return true
	})
}

// call runs the handler, and recovers from its panic.
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
		s.bus.report(fmt.Errorf("bus: a handler of %s panicked: %v\n%s", next.m.messageType(), v, stack))
	}()
	s.handle(ctx, next.m)
}

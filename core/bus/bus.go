// Package bus carries questions, answers and events between the core of a session and any number of front ends. Messages
// are plain data, and [Marshal] encodes them as JSON for front ends in other processes.
//
// The core asks with [Ask] and publishes events with [MessageBus.Publish]; a front end receives both with [Subscribe].
// Publishing never blocks. Each subscription has its own goroutine and its own bounded queue. It receives the messages
// that are published while it lasts, each at most once, in the order of publication, which is the same for all
// subscriptions. A message that finds the queue full is dropped there, and counted.
//
// The first answer to a question reaches the caller of Ask. Later answers are refused with an error. A question without
// a subscriber that can still answer ends at once.
package bus

import (
	"fmt"
	"slices"
	"sync"
)

// defaultQueue is the queue length of a subscription if [Options] sets none.
const defaultQueue = 256

// remembered is the number of ended questions that are distinguished from unknown ones.
const remembered = 1024

// Options configures a [MessageBus]; the zero value is ready to use.
type Options struct {
	// Queue is the maximum number of waiting messages of one subscription. It applies separately to live output, to
	// other events, and to questions and answers, so that much output cannot displace a question. 0 or less:
	// 256.
	Queue int
	// OnDefect receives the panics of handlers, with their stack. It is called on the subscription's goroutine, possibly
	// on several at once. nil discards them.
	OnDefect func(err error)
}

// MessageBus is the bus of one session. It is safe for concurrent use. It starts no goroutine before the first
// subscription.
type MessageBus struct {
	queue    int
	onDefect func(error)
	handlers sync.WaitGroup // the subscriptions' goroutines

	mu        sync.Mutex // guards all fields below, and the queues; handlers never run under it. The maps are nil until they are used
	closed    bool
	typed     map[Type][]*Subscription // of one type
	all       []*Subscription          // of all types
	observers []*Subscription          // of all types; they cannot answer
	open      map[string]*openQuestion // by correlation id
	asked     int                      // number of questions so far
	ended     map[string]error         // the error for a late answer, by correlation id
	endedIDs  []string                 // keys of ended, a ring
	dropped   int64
}

// New returns a bus.
func New(o Options) *MessageBus {
	if o.Queue <= 0 {
		o.Queue = defaultQueue
	}
	return &MessageBus{queue: o.Queue, onDefect: o.OnDefect}
}

// Publish sends an event or an answer to the current subscribers of its type. It never blocks.
//
// An answer first goes to the caller of [Ask] with its correlation id. If that fails, it is not delivered to subscribers
// either, and Publish returns [ErrAnswered], [ErrWithdrawn], [ErrUnknownQuestion] or, for a refusal to answer,
// [ErrOtherSubscribers]. Otherwise subscribers of its type receive it afterwards, so that other front ends can close their
// dialogs.
//
// Publish refuses a question with [ErrInvalid]: see [Ask]. It returns [ErrClosed] once the bus is closed.
func (b *MessageBus) Publish(m Message) error {
	if !known(m) {
		return fmt.Errorf("%w: %T is not a message type of this package; messages are passed by value", ErrInvalid, m)
	}
	if q, ok := m.(question); ok {
		return fmt.Errorf("%w: the question %s is asked, not published", ErrInvalid, q.messageType())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	if a, ok := m.(Answer); ok {
		if err := b.accept(a); err != nil {
			return err
		}
	}
	b.deliver(m, nil)
	return nil
}

// deliver queues m for the subscriptions that receive it. For a question q is set, and records the subscriptions that
// got it. b.mu is held.
func (b *MessageBus) deliver(m Message, q *openQuestion) {
	for _, s := range b.typed[m.messageType()] {
		s.push(m, q)
	}
	for _, s := range b.all {
		s.push(m, q)
	}
	for _, s := range b.observers {
		s.push(m, nil)
	}
}

// Listening reports whether a subscriber of m's type, or of all types, exists and could answer a question of that type.
// The content of m does not matter. Observers do not count.
func (b *MessageBus) Listening(m Message) bool {
	t := m.messageType()
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.typed[t]) > 0 || len(b.all) > 0
}

// Watched reports whether any subscriber or observer receives messages of m's type. The content of m does not matter. A
// publisher can skip a message that is expensive to build otherwise.
func (b *MessageBus) Watched(m Message) bool {
	t := m.messageType()
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.typed[t]) > 0 || len(b.all) > 0 || len(b.observers) > 0
}

// Dropped returns the number of messages that were dropped because a queue was full, counted once for each subscription
// that missed one.
func (b *MessageBus) Dropped() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped
}

// Close ends the bus. Subscriptions end as with [Subscription.Unsubscribe]; open questions and later calls of Publish
// and Ask return [ErrClosed]. Close then waits for running handlers, whose ctx has ended.
//
// A handler must not call Close, because Close would wait for it. Calling Close again only waits. The error is always
// nil.
func (b *MessageBus) Close() error {
	b.mu.Lock()
	b.closed = true
	for _, q := range b.open {
		b.settle(q, nil, ErrClosed)
	}
	subs := slices.Concat(b.all, b.observers)
	for _, s := range b.typed {
		subs = append(subs, s...)
	}
	for _, s := range subs {
		b.remove(s, ErrClosed)
	}
	b.mu.Unlock()
	b.handlers.Wait()
	return nil
}

// report passes an internal error to OnDefect. It recovers from panics of OnDefect.
func (b *MessageBus) report(err error) {
	if b.onDefect != nil {
		defer func() { _ = recover() }()
		b.onDefect(err)
	}
}

// Package bus carries a session's questions, answers and events between the
// core and any number of front ends, as plain data.
//
// What it promises: publishing never waits. Each subscription has its own
// goroutine and its own bounded queue, and receives what is published while it
// lasts, at most once, in the order of publication, which is the same for all
// subscriptions. What finds the queue full is dropped there, and counted.
// Answers are exact: the first one to a question reaches whoever asked, who
// answers later is told so, and a question that nobody can answer, or can
// answer any more, ends at once (AR-22 … AR-24, KH-23).
package bus

import (
	"fmt"
	"slices"
	"sync"
)

// DefaultQueue is the queue of a subscription where [Options] name none.
const DefaultQueue = 256

// remembered is how many questions that have ended are told from unknown ones.
const remembered = 1024

// Options are the parts of a [MessageBus]; the zero value is ready to use.
type Options struct {
	// Queue is how many messages wait at most at one subscription: of live
	// output, of other events, and of questions with answers, each, so that no
	// flood of output makes anybody miss a question. 0 or less: [DefaultQueue].
	Queue int
	// OnDefect receives the panics of handlers, with their stack. It is called
	// on the subscription's goroutine, perhaps on several at once; nil drops
	// them.
	OnDefect func(err error)
}

// MessageBus is the bus of one session. It is safe for concurrent use. It
// starts no goroutine until somebody subscribes.
type MessageBus struct {
	queue    int
	onDefect func(error)
	handlers sync.WaitGroup // the subscriptions' goroutines

	mu        sync.Mutex // guards all below, and the queues; no foreign code runs under it
	closed    bool
	typed     map[Type][]*Subscription // of one type
	all       []*Subscription          // of all types
	observers []*Subscription          // of all types, but nobody to ask
	open      map[string]*openQuestion // by correlation id
	asked     int                      // questions so far
	ended     map[string]error         // what to tell who answers a question that is no longer open
	endedIDs  []string                 // keys of ended, a ring
	dropped   int64
}

// New returns a bus.
func New(o Options) *MessageBus {
	if o.Queue <= 0 {
		o.Queue = DefaultQueue
	}
	return &MessageBus{
		queue:    o.Queue,
		onDefect: o.OnDefect,
		typed:    make(map[Type][]*Subscription),
		open:     make(map[string]*openQuestion),
		ended:    make(map[string]error),
	}
}

// Publish sends an event or an answer to everybody who subscribes to its type
// now. It never waits for them.
//
// An answer is first given to whoever asked the question with its correlation
// id; if that fails, nobody else sees it either, and the error is
// [ErrAnswered], [ErrWithdrawn], [ErrUnknownQuestion] or, for an answer that
// says that it is none, [ErrOthersAsked]. Subscribers of its
// type see it afterwards, so that other front ends can close their dialogs.
//
// A question is refused with [ErrInvalid]: see [Ask]. Once the bus is closed
// the error is [ErrClosed].
func (b *MessageBus) Publish(m Message) error {
	if !known(m) {
		return fmt.Errorf("%w: %T is none of its messages, which are passed by value", ErrInvalid, m)
	}
	if q, ok := m.(question); ok {
		return fmt.Errorf("%w: the question %s is asked, not published", ErrInvalid, q.Type())
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

// deliver queues m at everybody who is to see it; q is set for a question, and
// keeps those who got it. b.mu is held.
func (b *MessageBus) deliver(m Message, q *openQuestion) {
	for _, s := range b.typed[m.Type()] {
		s.push(m, q)
	}
	for _, s := range b.all {
		s.push(m, q)
	}
	for _, s := range b.observers {
		s.push(m, nil)
	}
}

// Listening reports whether somebody subscribes to messages of a type, or to
// all, and so could answer a question of that type. Observers do not count.
func (b *MessageBus) Listening(t Type) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.typed[t]) > 0 || len(b.all) > 0
}

// Watched reports whether anybody sees messages of a type, an observer too, so
// that a message that is costly to make need not be made for nobody.
func (b *MessageBus) Watched(t Type) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.typed[t]) > 0 || len(b.all) > 0 || len(b.observers) > 0
}

// Dropped returns how many messages have been dropped because a queue was
// full, once for each subscription that missed one.
func (b *MessageBus) Dropped() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped
}

// Close ends the bus: subscriptions end as by [Subscription.Unsubscribe], open
// questions end with [ErrClosed], and so does whatever is published or asked
// later. It then waits for handlers that still run; their ctx has ended.
//
// A handler must not call it, as it would wait for itself. Closing again only
// waits. The error is always nil.
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

// report hands a defect to the host, whose own panics end here.
func (b *MessageBus) report(err error) {
	if b.onDefect != nil {
		defer func() { _ = recover() }()
		b.onDefect(err)
	}
}

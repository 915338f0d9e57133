package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Question is a request message that is answered by an A.
type Question[A Answer] interface {
	question
	answeredBy(A)
}

// question is a [Question] with any answer type.
type question interface {
	Message
	Correlation() string
	correlated(id string) question // a copy with the given id
	takes(a Answer) bool
}

// Answer is a message that answers the question with the same correlation id.
type Answer interface {
	Message
	correlation() string
	answers()
}

// openQuestion is a question whose caller waits for the answer.
type openQuestion struct {
	m    question
	seq  int           // sequence number, in the order of the questions
	done chan struct{} // closed when the question is settled

	// Guarded by the bus's mu until done is closed, then constant.
	holders map[*Subscription]context.CancelCauseFunc // subscriptions that may answer; nil until the handler starts
	answer  Answer
	err     error
}

// Ask sends a question to all subscribers of its type and returns the first answer. It waits while at least one
// subscriber can answer and until ctx ends; it has no timeout of its own.
//
// If q has no correlation id, Ask generates one. It refuses an id that is or recently was in use with [ErrInvalid],
// because a late answer could be mistaken for the answer to another question. Ask also returns [ErrNoApprover],
// [ErrClosed], or an error that wraps that of ctx.
func Ask[Q Question[A], A Answer](ctx context.Context, b *MessageBus, q Q) (A, error) {
	a, err := b.ask(ctx, q)
	if err != nil {
		var none A
		return none, err
	}
	return a.(A), nil
}

func (b *MessageBus) ask(ctx context.Context, m question) (Answer, error) {
	if !known(m) {
		return nil, fmt.Errorf("%w: %T is not a message type of this package; messages are passed by value", ErrInvalid, m)
	}
	if m.Correlation() == "" {
		m = m.correlated(NewID())
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("bus: ask: %w", err)
	}
	q, err := b.put(m)
	if err != nil {
		return nil, err
	}
	select {
	case <-q.done:
	case <-ctx.Done():
		b.mu.Lock()
		b.settle(q, nil, ErrWithdrawn)
		b.mu.Unlock()
	}
	if errors.Is(q.err, ErrWithdrawn) {
		return nil, fmt.Errorf("bus: wait for the answer: %w", ctx.Err())
	}
	return q.answer, q.err
}

// put registers and delivers a question.
func (b *MessageBus) put(m question) (*openQuestion, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrClosed
	}
	id := m.Correlation()
	if b.open[id] != nil || b.ended[id] != nil {
		return nil, fmt.Errorf("%w: the correlation id %.40q has been used", ErrInvalid, id)
	}
	b.asked++
	q := &openQuestion{m: m, seq: b.asked, done: make(chan struct{}), holders: make(map[*Subscription]context.CancelCauseFunc)}
	if b.open == nil {
		b.open = make(map[string]*openQuestion)
	}
	b.open[id] = q
	b.deliver(m, q)
	if len(q.holders) == 0 {
		delete(b.open, id) // no subscriber has seen it
		return nil, ErrNoApprover
	}
	return q, nil
}

// accept passes an answer to the caller of Ask. b.mu is held.
func (b *MessageBus) accept(a Answer) error {
	id := a.correlation()
	if id == "" {
		return fmt.Errorf("%w: the answer %s needs a correlation id", ErrInvalid, a.messageType())
	}
	q := b.open[id]
	switch {
	case q == nil && b.ended[id] != nil:
		return b.ended[id]
	case q == nil:
		return ErrUnknownQuestion
	case !q.m.takes(a):
		return fmt.Errorf("%w: %s does not answer %s", ErrInvalid, a.messageType(), q.m.messageType())
	case len(q.holders) > 1 && !decides(a):
		return ErrOtherSubscribers
	}
	b.settle(q, a, nil)
	return nil
}

// decides reports whether an answer is a decision, and not a refusal to answer.
func decides(a Answer) bool {
	r, ok := a.(ToolConfirmationResponse)
	return !ok || !r.RequiresUserConfirmation
}

// settle ends a question with its answer or with an error. A settled question stays as it is. b.mu is held.
func (b *MessageBus) settle(q *openQuestion, a Answer, err error) {
	select {
	case <-q.done:
		return
	default:
	}
	q.answer, q.err = a, err
	id, late := q.m.Correlation(), ErrWithdrawn
	if a != nil {
		late = ErrAnswered
	}
	delete(b.open, id)
	b.remember(id, late)
	for _, cancel := range q.holders {
		if cancel != nil {
			cancel(late)
		}
	}
	q.holders = nil
	close(q.done)
}

// remember keeps the error for late answers to an ended question. It keeps the most recent ones only. b.mu is held.
func (b *MessageBus) remember(id string, late error) {
	if len(b.endedIDs) == remembered {
		delete(b.ended, b.endedIDs[0])
		b.endedIDs = b.endedIDs[1:]
	}
	b.endedIDs = append(b.endedIDs, id)
	if b.ended == nil {
		b.ended = make(map[string]error)
	}
	b.ended[id] = late
}

// giveUp removes a subscription from the holders of a question, and ends the question if it was the last holder. b.mu is
// held.
func (b *MessageBus) giveUp(q *openQuestion, s *Subscription) {
	cancel, held := q.holders[s]
	if !held {
		return
	}
	delete(q.holders, s)
	if cancel != nil {
		cancel(context.Canceled)
	}
	if len(q.holders) == 0 {
		b.settle(q, nil, ErrNoApprover)
	}
}

// begin returns the ctx for a handler call with the question. It returns false if the question has ended. The bus's mu
// is held.
func (q *openQuestion) begin(s *Subscription) (context.Context, bool) {
	if _, held := q.holders[s]; !held {
		return nil, false
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	q.holders[s] = cancel
	return ctx, true
}

// openQuestions returns the open questions, the oldest first. b.mu is held.
func (b *MessageBus) openQuestions() []*openQuestion {
	return slices.SortedFunc(maps.Values(b.open), func(x, y *openQuestion) int { return cmp.Compare(x.seq, y.seq) })
}

// NewID returns a unique id for a question or another object: 128 random bits in lower-case hex.
func NewID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

package bus

import "errors"

// Errors of publishing and asking; errors.Is finds them.
var (
	// ErrClosed is returned once the bus has been closed.
	ErrClosed = errors.New("bus: closed")
	// ErrInvalid is returned for what the bus does not carry: what is none of
	// its messages, a question that is published instead of asked, a question
	// whose id is in use or was, an answer without an id, or of a type that
	// its question does not take.
	ErrInvalid = errors.New("bus: not a message to be carried")
	// ErrNoApprover is returned by [Ask] when nobody can answer: nobody
	// subscribes to the question, or those who got it are gone.
	ErrNoApprover = errors.New("bus: no approver")
	// ErrAnswered is returned to whoever answers a question second.
	ErrAnswered = errors.New("bus: the question has been answered already")
	// ErrWithdrawn is returned to whoever answers a question that nobody
	// waits for any more.
	ErrWithdrawn = errors.New("bus: the question has been withdrawn")
	// ErrOthersAsked is returned to who answers that it cannot answer, while
	// others still can: see [Subscription.Decline].
	ErrOthersAsked = errors.New("bus: others are asked too, so who cannot answer must decline")
	// ErrUnknownQuestion is returned to whoever answers a question that was
	// never asked, or so long ago that the bus has forgotten it.
	ErrUnknownQuestion = errors.New("bus: there is no such question")
)

package bus

import "errors"

// Errors of publications and questions, for use with errors.Is.
var (
	// ErrClosed is returned once the bus is closed.
	ErrClosed = errors.New("bus: closed")
	// ErrInvalid is returned for a value that is not a message of this package, a question that is published instead of
	// asked, a question whose id is or was in use, and an answer that has no id or a type that its question does not
	// accept.
	ErrInvalid = errors.New("bus: invalid message")
	// ErrNoApprover is returned by [Ask] if no subscriber can answer: the question has no subscribers, or all of them
	// have declined or ended.
	ErrNoApprover = errors.New("bus: no approver")
	// ErrAnswered is returned for a second answer to a question.
	ErrAnswered = errors.New("bus: the question has been answered already")
	// ErrWithdrawn is returned for an answer to a question whose caller no longer waits.
	ErrWithdrawn = errors.New("bus: the question has been withdrawn")
	// ErrOtherSubscribers is returned for a refusal to answer while other subscribers can still answer: see
	// [Subscription.Decline].
	ErrOtherSubscribers = errors.New("bus: other subscribers can still answer; decline instead")
	// ErrUnknownQuestion is returned for an answer to a question that was never asked, or that the bus has forgotten.
	ErrUnknownQuestion = errors.New("bus: unknown question")
)

package scheduler

import (
	"context"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/tools"
)

// Question is what a front end that does not use the bus is asked.
type Question struct {
	CallID       string
	Tool         string
	Confirmation *tools.Confirmation
}

// Answer is what a person said.
type Answer struct{ Outcome Outcome }

// Outcome is a person's choice.
type Outcome = bus.Outcome

// The outcomes of an [Asker].
const (
	ProceedOnce = bus.ProceedOnce
	Cancel      = bus.Cancel
)

// Asker puts a question to a person and waits for the answer.
type Asker func(ctx context.Context, q Question) (Answer, error)

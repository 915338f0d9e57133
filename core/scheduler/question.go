package scheduler

import (
	"context"

	"github.com/fettle-dev/fettle/core/tools"
)

// Question is what a person is asked about a call, as plain data.
type Question struct {
	CallID       string              `json:"callId"`
	Tool         string              `json:"tool"`
	Confirmation *tools.Confirmation `json:"confirmation"` // never nil
}

// Answer is what a person said.
type Answer struct {
	Outcome Outcome `json:"outcome"` // anything but a known approval cancels
}

// Outcome is a person's choice (AR-20).
type Outcome string

// The outcomes that are acted on so far.
const (
	ProceedOnce Outcome = "proceed_once" // run this call
	Cancel      Outcome = "cancel"       // do not run it
)

// Asker puts a question to a person and waits for the answer, at most until
// ctx ends. An error means that there is no answer, which is a refusal.
type Asker func(ctx context.Context, q Question) (Answer, error)

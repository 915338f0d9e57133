package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Error is a failed request. [Error.Fault] returns it in a form for users.
type Error struct {
	Provider   string        // e.g. "gemini"
	Kind       ErrorKind     // class of the failure, which decides the reaction
	Status     int           // HTTP status; 0: no response was received
	Code       string        // the provider's error code, e.g. "RESOURCE_EXHAUSTED"; may be empty
	Message    string        // the provider's message, without keys and headers
	RetryAfter time.Duration // requested delay before a retry; 0: none was stated
	Err        error         // the cause; may be nil
}

// ErrorKind is a class of failures that are handled alike.
type ErrorKind string

// The kinds of an [Error].
const (
	RateLimited     ErrorKind = "rate_limited"     // too many requests for now: wait and try again
	QuotaExhausted  ErrorKind = "quota_exhausted"  // the quota is used up for a day or longer, or the account needs a payment
	Unavailable     ErrorKind = "unavailable"      // the provider failed, or is overloaded: try again
	Connection      ErrorKind = "connection"       // the provider was not reached, or the stream broke: try again
	InvalidRequest  ErrorKind = "invalid_request"  // the request is wrong; a retry fails again
	ContextExceeded ErrorKind = "context_exceeded" // the conversation is longer than the model's limit
	Unauthenticated ErrorKind = "unauthenticated"  // the key is missing, invalid or not permitted to do this
	NotFound        ErrorKind = "not_found"        // the model does not exist
	BadAnswer       ErrorKind = "bad_answer"       // the provider's response is malformed: try again
	Canceled        ErrorKind = "cancelled"        // ctx ended
)

// Retryable reports whether the same request may succeed later.
func (k ErrorKind) Retryable() bool {
	switch k {
	case RateLimited, Unavailable, Connection, BadAnswer:
		return true
	}
	return false
}

// Error returns one line for logs.
func (e *Error) Error() string {
	text := e.Provider + ": " + string(e.Kind)
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an [*Error]. Any other error becomes one of kind cancelled if it reports
// the end of a context, else of kind connection.
func AsError(provider string, err error) *Error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Error{Provider: provider, Kind: Canceled, Message: err.Error(), Err: err}
	}
	return &Error{Provider: provider, Kind: Connection, Message: err.Error(), Err: err}
}

// Fault returns e for users: the failure and its remedy. The code is model_error, or cancelled.
func (e *Error) Fault() *fault.Error {
	if e.Kind == Canceled {
		return fault.Wrap(fault.Cancelled, "model.generate", "The request to the model was cancelled.", "", e)
	}
	return fault.Wrap(fault.ModelError, "model.generate", e.sentence(), e.remedy(), e).Because(fault.Reason(e.Kind))
}

// sentence describes the failure and ends with a full stop.
func (e *Error) sentence() string {
	text := fmt.Sprintf("The request to the model's provider %s failed", e.Provider)
	if e.Status != 0 {
		text = fmt.Sprintf("The model's provider %s answered with HTTP status %d", e.Provider, e.Status)
	}
	if message := strings.TrimSpace(e.Message); message != "" {
		text += ": " + message
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") || strings.HasSuffix(text, "…") {
		return text
	}
	return text + "."
}

func (e *Error) remedy() string {
	switch e.Kind {
	case RateLimited:
		return "Wait a minute and try again, or use another model."
	case QuotaExhausted:
		return "Use another model, or raise the quota of the key."
	case Unavailable, BadAnswer:
		return "Try again later, or use another model."
	case Connection:
		return "Check the network, and the address that the provider's variable for its base URL names."
	case ContextExceeded:
		return "Compact the conversation, or begin a new one."
	case Unauthenticated:
		return "Correct the key in the provider's environment variable, or store another one with fettle setup."
	case NotFound:
		return "Check the name of the model."
	}
	return "Check the request against the message of the provider."
}

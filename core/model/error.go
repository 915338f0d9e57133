package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Error is a request that failed. [Error.Fault] says it to people.
type Error struct {
	Provider   string        // as "gemini"
	Kind       ErrorKind     // what to do about it
	Status     int           // of HTTP; 0: the request got no answer
	Code       string        // the provider's own word, as "RESOURCE_EXHAUSTED"; may be empty
	Message    string        // what the provider said, without keys and headers
	RetryAfter time.Duration // how long the provider asks to wait; 0: it did not say
	Err        error         // the cause; may be nil
}

// ErrorKind is a class of failures that are treated alike.
type ErrorKind string

// The kinds of an [Error].
const (
	RateLimited     ErrorKind = "rate_limited"     // too many requests for now: wait and try again
	QuotaExhausted  ErrorKind = "quota_exhausted"  // no more for a day, or until somebody pays
	Unavailable     ErrorKind = "unavailable"      // the provider failed, or is overloaded: try again
	Connection      ErrorKind = "connection"       // the provider was not reached, or the stream broke: try again
	InvalidRequest  ErrorKind = "invalid_request"  // the request is wrong, and will be wrong again
	ContextExceeded ErrorKind = "context_exceeded" // the conversation is longer than the model takes
	Unauthenticated ErrorKind = "unauthenticated"  // the key is missing, wrong, or may not do this
	NotFound        ErrorKind = "not_found"        // there is no such model
	BadAnswer       ErrorKind = "bad_answer"       // the provider's answer is not what it should be: try again
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

// AsError returns err as an [*Error], one that is none as of kind cancelled
// where a context ended, else as connection.
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

// Fault returns e for people, of code model_error, or cancelled: what happened
// and what can be done about it.
func (e *Error) Fault() *fault.Error {
	if e.Kind == Canceled {
		return fault.Wrap(fault.Cancelled, "model.generate", "The request to the model was cancelled.", "", e)
	}
	return fault.Wrap(fault.ModelError, "model.generate", e.sentence(), e.remedy(), e).Because(fault.Reason(e.Kind))
}

// sentence says what happened, and ends as a sentence does.
func (e *Error) sentence() string {
	text := fmt.Sprintf("The request to the model's provider %s failed", e.Provider)
	if e.Status != 0 {
		text = fmt.Sprintf("The model's provider %s answered with HTTP status %d", e.Provider, e.Status)
	}
	if said := strings.TrimSpace(e.Message); said != "" {
		text += ": " + said
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
		return "Check the key in the provider's environment variable."
	case NotFound:
		return "Check the name of the model."
	}
	return "Check the request; the provider says what it did not accept."
}

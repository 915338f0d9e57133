package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// status is an error in the form of a server: an object or only a text.
type status struct {
	Message wire.Text `json:"message"`
	Type    wire.Text `json:"type"`
	Code    wire.Text `json:"code"` // a word or a number
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *status) UnmarshalJSON(raw []byte) error {
	if raw[0] != '{' {
		return s.Message.UnmarshalJSON(raw)
	}
	type plain status
	return json.Unmarshal(raw, (*plain)(s))
}

// problem converts the error response of a server.
func problem(x *wire.Exchange, secrets wire.Secrets) *model.Error {
	var s status
	if !s.decode(x.Problem) {
		s = status{Message: wire.Text(wire.ServerMessage(x.Status, x.Problem))}
	}
	e := &model.Error{Provider: Provider, Status: x.Status}
	if x.Status >= 200 && x.Status < 300 {
		e.Status = s.httpStatus() // of an error within a response
	}
	e.Code = secrets.Redact(string(s.Code))
	if e.Code == "" {
		e.Code = secrets.Redact(string(s.Type))
	}
	e.Message = secrets.Redact(string(s.Message))
	e.RetryAfter = wire.RetryAfter(x.Header, string(s.Message))
	e.Kind = s.kind(e.Status)
	return e
}

// decode reads {"error": …}, or the form of other servers.
func (s *status) decode(raw []byte) bool {
	var envelope struct {
		Error   *status   `json:"error"`
		Message wire.Text `json:"message"`
		Detail  wire.Text `json:"detail"`
		Code    wire.Text `json:"code"`
		Type    wire.Text `json:"type"`
	}
	if json.Unmarshal(raw, &envelope) != nil {
		return false
	}
	switch {
	case envelope.Error != nil:
		*s = *envelope.Error
		s.Message = cmp.Or(s.Message, envelope.Message)
	case envelope.Message != "":
		*s = status{envelope.Message, envelope.Type, envelope.Code}
	case envelope.Detail != "":
		s.Message = envelope.Detail
	}
	return s.Message != "" || s.Code != "" || s.Type != ""
}

// httpStatus returns the code of an error if it is the number of an HTTP status.
func (s status) httpStatus() int {
	var n wire.Count
	_ = n.UnmarshalJSON([]byte(s.Code)) // never fails
	if n < 400 || n > 599 {
		return 0
	}
	return int(n)
}

// kind returns the class of an error.
func (s status) kind(code int) model.ErrorKind {
	is := func(word string) bool { return string(s.Code) == word || string(s.Type) == word }
	message := string(s.Message)
	switch {
	case is("insufficient_quota"), is("billing_hard_limit_reached"), is("billing_not_active"):
		return model.QuotaExhausted
	case is("rate_limit_exceeded"), is("rate_limit_error"):
		return model.RateLimited
	case is("context_length_exceeded"), is("exceed_context_size_error"), code != 429 && tooLong().MatchString(message):
		return model.ContextExceeded
	case is("invalid_api_key"), is("authentication_error"):
		return model.Unauthenticated
	case is("model_not_found"):
		return model.NotFound
	case code != 0:
		return wire.Kind(code)
	case strings.HasPrefix(string(s.Type), "invalid_request"):
		return model.InvalidRequest
	}
	// The server ended its own response without a reason.
	return model.Unavailable
}

var tooLong = lazyregexp.New(`(?i)(maximum|max|available|model's) context (length|size|window)|context (length|window|size) (exceeded|of only|is exceeded)|exceed\w* (the )?(\w+ )?(context|token limit|maximum number of tokens)|prompt is too long|input is too long|too many (input )?tokens|reduce the length of`)

package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// problem converts an error that the API sent, either in place of a response or as an event within
// one. An event has no HTTP status.
func problem(x *wire.Exchange, secrets wire.Secrets) *model.Error {
	var body struct {
		Error struct {
			Type    wire.Text `json:"type"`
			Message wire.Text `json:"message"`
		} `json:"error"`
	}
	status := x.Status
	if status < http.StatusBadRequest && x.Events > 0 || status < http.StatusMultipleChoices {
		status = 0
	}
	message := ""
	if json.Unmarshal(x.Problem, &body) == nil {
		message = string(body.Error.Message)
	}
	if message == "" {
		message = wire.ServerMessage(x.Status, x.Problem)
	}
	code := string(body.Error.Type)
	e := &model.Error{
		Provider: Provider, Kind: kindOf(status, code, strings.ToLower(message)), Status: status,
		Code: secrets.Redact(code), Message: secrets.Redact(message),
	}
	if status != 0 {
		e.RetryAfter = wire.RetryAfter(x.Header, message)
	}
	return e
}

// kindOf classifies an error. A status that blames the request takes precedence, since a gateway
// may add a code that does not fit. Otherwise the API's code decides, then the status. Some errors
// of type invalid_request are distinguished by their message.
func kindOf(status int, code, message string) model.ErrorKind {
	switch {
	case contains(message, "credit balance is too low", "reached your specified api usage limits"):
		return model.QuotaExhausted
	case mayBeTooLong(status) && (code == "request_too_large" || tooLong().MatchString(message)):
		return model.ContextExceeded
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != statusClientClosed:
		return wire.Kind(status)
	}
	switch code {
	case "rate_limit_error":
		return model.RateLimited
	case "overloaded_error", "api_error", "timeout_error":
		return model.Unavailable
	case "authentication_error", "permission_error":
		return model.Unauthenticated
	case "not_found_error":
		return model.NotFound
	case "billing_error":
		return model.QuotaExhausted
	}
	switch {
	case status != 0:
		return wire.Kind(status)
	case code == "invalid_request_error":
		return model.InvalidRequest
	}
	return model.Unavailable // within a response that began with a success status
}

// statusClientClosed is the status that a proxy reports when its client has disconnected.
const statusClientClosed = 499

var tooLong = lazyregexp.New(`(?s)prompt is too long|exceed context limit|exceeds the context window|context window exceeded|input token count.*exceeds the maximum`)

// mayBeTooLong reports whether an error with this status may be about the length of the
// conversation.
func mayBeTooLong(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusRequestTimeout, statusClientClosed:
		return true
	}
	return status < 400 || status >= 500
}

func contains(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

func invalidRequest(message string, cause error) *model.Error {
	return &model.Error{Provider: Provider, Kind: model.InvalidRequest, Message: message, Err: cause}
}

func badAnswer(message string) *model.Error {
	return &model.Error{Provider: Provider, Kind: model.BadAnswer, Message: message}
}

package anthropic

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// hider returns a text on one line, of bounded length, without the secrets that no error may show.
// It is a func so that printing a Generator does not print its keys.
type hider func(text string) string

// asError converts an error of the SDK. It keeps nothing of the request, whose headers contain the
// key.
func (hide hider) asError(ctx context.Context, err error) *model.Error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return &model.Error{Provider: Provider, Kind: model.Canceled, Message: "the request was cancelled", Err: ctxErr}
	}
	var apiErr *sdk.Error
	if errors.As(err, &apiErr) {
		return hide.fromAPI(apiErr)
	}
	if errors.Is(err, errRedirect) {
		return invalidRequest(errRedirect.Error(), nil)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, bufio.ErrTooLong) {
		return badAnswer("an event of the answer cannot be read: " + hide(err.Error()))
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the address, which may contain a password
	}
	e := &model.Error{Provider: Provider, Kind: model.Connection, Message: hide(err.Error())}
	if e.Message == err.Error() {
		e.Err = err
	}
	return e
}

// fromAPI converts an error that the API sent, either in place of a response or as an event within
// one. An event has no HTTP status.
func (hide hider) fromAPI(apiErr *sdk.Error) *model.Error {
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	var message string
	if json.Unmarshal([]byte(apiErr.RawJSON()), &body) == nil && body.Error.Message != "" {
		message = body.Error.Message
	} else {
		message = wire.ServerMessage(apiErr.StatusCode, []byte(apiErr.RawJSON()))
	}
	e := &model.Error{Provider: Provider, Status: apiErr.StatusCode, Code: hide(body.Error.Type), Message: hide(message)}
	if e.Status < http.StatusBadRequest {
		e.Status = 0
	}
	e.Kind = kindOf(e.Status, body.Error.Type, strings.ToLower(message))
	if apiErr.Response != nil && e.Status != 0 {
		e.RetryAfter = wire.RetryAfter(apiErr.Response.Header, message)
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
	case mayBeTooLong(status) && (code == "request_too_large" || tooLong.MatchString(message)):
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

var tooLong = regexp.MustCompile(`(?s)prompt is too long|exceed context limit|exceeds the context window|context window exceeded|input token count.*exceeds the maximum`)

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

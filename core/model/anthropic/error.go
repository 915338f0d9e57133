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

// hider returns a text without what no error may show, on one line and of a
// bounded length. It is a func, so that keys are not shown either where a
// Generator is printed.
type hider func(text string) string

// asError says what failed. It keeps nothing of the request, whose headers hold
// the key.
func (hide hider) asError(ctx context.Context, err error) *model.Error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return &model.Error{Provider: Provider, Kind: model.Canceled, Message: "the request was cancelled", Err: ctxErr}
	}
	var told *sdk.Error
	if errors.As(err, &told) {
		return hide.fromAPI(told)
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
		err = wrapped.Err // without the address, which may hold a password
	}
	e := &model.Error{Provider: Provider, Kind: model.Connection, Message: hide(err.Error())}
	if e.Message == err.Error() {
		e.Err = err
	}
	return e
}

// fromAPI reads an error that the API sent: instead of an answer, or as an
// event in the midst of one, which has a status of its own no more.
func (hide hider) fromAPI(told *sdk.Error) *model.Error {
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	var said string
	if json.Unmarshal([]byte(told.RawJSON()), &body) == nil && body.Error.Message != "" {
		said = body.Error.Message
	} else {
		said = wire.Said(told.StatusCode, []byte(told.RawJSON()))
	}
	e := &model.Error{Provider: Provider, Status: told.StatusCode, Code: hide(body.Error.Type), Message: hide(said)}
	if e.Status < http.StatusBadRequest {
		e.Status = 0
	}
	e.Kind = kindOf(e.Status, body.Error.Type, strings.ToLower(said))
	if told.Response != nil && e.Status != 0 {
		e.RetryAfter = wire.RetryAfter(told.Response.Header, said)
	}
	return e
}

// kindOf classifies by the status where it is of the request's own fault, as a
// gateway may have a word for it that fits another; else by the API's word, then
// by the status. Some of what is an invalid request is told apart by what it says.
func kindOf(status int, code, said string) model.ErrorKind {
	switch {
	case contains(said, "credit balance is too low", "reached your specified api usage limits"):
		return model.QuotaExhausted
	case mayBeTooLong(status) && (code == "request_too_large" || tooLong.MatchString(said)):
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
	return model.Unavailable // in the midst of an answer that had begun well
}

// statusClientClosed is what a proxy answers when it has lost its client.
const statusClientClosed = 499

var tooLong = regexp.MustCompile(`(?s)prompt is too long|exceed context limit|exceeds the context window|context window exceeded|input token count.*exceeds the maximum`)

// mayBeTooLong reports whether the words of an error may be about the length of
// the conversation: not where its status says something else.
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

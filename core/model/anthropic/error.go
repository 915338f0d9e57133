package anthropic

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/fettle-dev/fettle/core/model"
)

// maxMessage is how many bytes of a provider's message are told.
const maxMessage = 2000

// secrets hides texts that no error may show. It is a func, so that they are not
// shown either where a Generator is printed.
type secrets func(text string) string

func newSecrets(texts ...string) secrets {
	var pairs []string
	for _, text := range texts {
		if len(text) >= 4 { // a shorter one is no secret, and would be found everywhere
			pairs = append(pairs, text, "***")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

// hide returns text without secrets, on one line and of a bounded length.
func (s secrets) hide(text string) string {
	text = s(text)
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}

// asError says what failed. It keeps nothing of the request, whose headers hold
// the key.
func (s secrets) asError(ctx context.Context, err error) *model.Error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return &model.Error{Provider: Provider, Kind: model.Canceled, Message: "the request was cancelled", Err: ctxErr}
	}
	var told *sdk.Error
	if errors.As(err, &told) {
		return s.fromAPI(told)
	}
	if errors.Is(err, errRedirect) {
		return invalidRequest(errRedirect.Error(), nil)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, bufio.ErrTooLong) {
		return badAnswer("an event of the answer cannot be read: " + s.hide(err.Error()))
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the address, which may hold a password
	}
	e := &model.Error{Provider: Provider, Kind: model.Connection, Message: s.hide(err.Error())}
	if e.Message == err.Error() {
		e.Err = err
	}
	return e
}

// fromAPI reads an error that the API sent: instead of an answer, or as an
// event in the midst of one, which has a status of its own no more.
func (s secrets) fromAPI(told *sdk.Error) *model.Error {
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	said := told.RawJSON()
	if json.Unmarshal([]byte(said), &body) == nil && body.Error.Message != "" {
		said = body.Error.Message
	}
	e := &model.Error{Provider: Provider, Status: told.StatusCode, Code: s.hide(body.Error.Type), Message: s.hide(said)}
	if e.Status < http.StatusBadRequest {
		e.Status = 0
	}
	e.Kind = kindOf(e.Status, body.Error.Type, strings.ToLower(said))
	if e.Message == "" {
		e.Message = http.StatusText(e.Status)
	}
	if told.Response != nil && e.Status != 0 {
		e.RetryAfter = retryAfter(told.Response.Header)
	}
	return e
}

// kindOf classifies by the API's own word for it, then by the status. Some of
// what it calls an invalid request is told apart by what it says.
func kindOf(status int, code, said string) model.ErrorKind {
	switch {
	case contains(said, "prompt is too long", "exceed context limit", "exceeds the context window", "context window exceeded"):
		return model.ContextExceeded
	case contains(said, "credit balance is too low", "reached your specified api usage limits"):
		return model.QuotaExhausted
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
	case "request_too_large":
		return model.ContextExceeded
	}
	switch {
	case status == http.StatusTooManyRequests:
		return model.RateLimited
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return model.Unauthenticated
	case status == http.StatusPaymentRequired:
		return model.QuotaExhausted
	case status == http.StatusNotFound:
		return model.NotFound
	case status == http.StatusRequestEntityTooLarge:
		return model.ContextExceeded
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 499, status == 0 && code != "invalid_request_error":
		return model.Unavailable
	}
	return model.InvalidRequest
}

func contains(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// retryAfter reads how long the server asks to wait: milliseconds, seconds, or
// a date by the server's own clock. 0: it does not say.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(ms / 1000)
	}
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return bounded(seconds)
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, until.Sub(now))
}

// bounded keeps a number of seconds within what a Duration holds.
func bounded(seconds float64) time.Duration {
	const month = 30 * 24 * 3600
	if !(seconds > 0) { // not a number, too
		return 0
	}
	return time.Duration(min(seconds, month) * float64(time.Second))
}

func invalidRequest(message string, cause error) *model.Error {
	return &model.Error{Provider: Provider, Kind: model.InvalidRequest, Message: message, Err: cause}
}

func badAnswer(message string) *model.Error {
	return &model.Error{Provider: Provider, Kind: model.BadAnswer, Message: message}
}

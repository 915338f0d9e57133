package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/redact"
)

// maxMessage is the length in bytes to which a provider's message is cut.
const maxMessage = 1000

// Secrets are texts that no error may contain. Texts shorter than four bytes are ignored.
type Secrets []string

// Redact returns text on one line, cut to the length of a message, without the secrets and without
// text that has the shape of one.
func (s Secrets) Redact(text string) string {
	m := redact.Masker{Shortest: 4}
	m.Add(s...)
	return escape.ClipBytes(escape.OneLine(strings.ToValidUTF8(m.Text(text), "\ufffd")), maxMessage)
}

// Broken returns the error of an exchange without a response and without an error of the server. Its
// causes are: ctx ended, the request could not be sent, the connection broke, or the data was not a
// response. err is the error of the SDK. Broken returns nil if the response was received to its end.
func (x *Exchange) Broken(ctx context.Context, provider string, err error, secrets Secrets) *model.Error {
	if err == nil && x.Err == nil {
		return nil
	}
	e := &model.Error{Provider: provider, Status: x.Status}
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Status, e.Err = model.Canceled, 0, ctx.Err()
	case errors.Is(x.Err, ErrMalformed), errors.Is(x.Err, ErrWebPage), errors.Is(x.Err, ErrTooLong):
		e.Kind, e.Err = model.BadAnswer, x.Err
	case errors.Is(x.Err, io.ErrUnexpectedEOF) && x.Status != 0:
		return x.CutShort(provider)
	case x.Err != nil:
		e.Kind, e.Status, e.Err = model.Connection, 0, x.Err
	case x.Status == 0:
		e.Kind, e.Err = model.InvalidRequest, err
	case x.Events == 0: // the SDK's error for an empty response
		return x.CutShort(provider)
	default:
		e.Kind, e.Err = model.BadAnswer, err
	}
	e.Message = secrets.Redact(e.Err.Error())
	if e.Message != e.Err.Error() {
		e.Err = nil // its text may contain secrets
	}
	return e
}

// CutShort returns the error of a response that ended early, or that was received to its end and is
// not valid.
func (x *Exchange) CutShort(provider string) *model.Error {
	if x.Err == nil && !x.Stream && x.Events > 0 {
		return &model.Error{Provider: provider, Kind: model.BadAnswer, Status: x.Status, Message: ErrMalformed.Error(), Err: ErrMalformed}
	}
	return &model.Error{
		Provider: provider, Kind: model.Connection, Status: x.Status,
		Message: "the answer broke off before its end", Err: io.ErrUnexpectedEOF,
	}
}

// Kind returns the class of an HTTP status without further information.
func Kind(status int) model.ErrorKind {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return model.Unauthenticated
	case status == http.StatusPaymentRequired:
		return model.QuotaExhausted
	case status == http.StatusNotFound:
		return model.NotFound
	case status == http.StatusRequestEntityTooLarge:
		return model.ContextExceeded
	case status == http.StatusTooManyRequests:
		return model.RateLimited
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status == 499, status >= 500:
		return model.Unavailable
	}
	return model.InvalidRequest
}

// ServerMessage returns the message of a server that did not answer an error with JSON: its text, or the
// title of a web page.
func ServerMessage(status int, problem []byte) string {
	text := strings.TrimSpace(string(problem))
	switch {
	case status >= 300 && status < 400:
		return "the server redirects to another address, which is not followed because the key is not meant for it"
	case text == "":
		return strings.ToLower(http.StatusText(status))
	case !strings.HasPrefix(text, "<"):
		return text
	}
	if m := title().FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	return "the answer is a web page"
}

var title = lazyregexp.New(`(?is)<title[^>]*>(.*?)</title>`)

// RetryAfter returns the delay that the headers of a response, or else its message, request. It is
// at most a week; 0 if none is requested.
func RetryAfter(header http.Header, message string) time.Duration {
	return min(retryAfter(header, message), week)
}

const week = 7 * 24 * time.Hour

func retryAfter(header http.Header, message string) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return seconds(ms / 1000)
	}
	after := header.Get("Retry-After")
	if s, err := strconv.ParseFloat(after, 64); err == nil {
		return seconds(s)
	}
	if at, err := http.ParseTime(after); err == nil {
		return max(0, time.Until(at))
	}
	if m := tryAgain().FindStringSubmatch(message); m != nil {
		if d, err := time.ParseDuration(strings.ReplaceAll(m[1], " ", "")); err == nil {
			return max(0, d)
		}
	}
	return 0
}

var tryAgain = lazyregexp.New(`(?i)(?:retry|try again) (?:in|after) ((?:[0-9.]+ ?(?:h|ms|m|s))+)`)

// seconds returns s as a duration between 0 and a week.
func seconds(s float64) time.Duration {
	if s != s || s < 0 {
		return 0
	}
	return time.Duration(min(s, week.Seconds()) * float64(time.Second))
}

// Text is a JSON value that is reduced to text: a string itself, the literal of a number or
// boolean, the joined texts of a list of parts. Null and every other value decode to "". Decoding
// never fails.
type Text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(raw []byte) error {
	*t = ""
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		*t = Text(s)
	case '[':
		var list []Text
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		for _, item := range list {
			*t += item
		}
	case '{':
		var part struct {
			Text Text `json:"text"`
		}
		if err := json.Unmarshal(raw, &part); err != nil {
			return err
		}
		*t = part.Text
	case 'n':
	default:
		*t = Text(raw)
	}
	return nil
}

// Count is a number of tokens in JSON; any other value is 0. Decoding never fails.
type Count int

// UnmarshalJSON implements json.Unmarshaler.
func (c *Count) UnmarshalJSON(raw []byte) error {
	*c = 0
	if n, err := strconv.ParseFloat(string(raw), 64); err == nil && n > 0 && n < 1<<53 {
		*c = Count(n)
	}
	return nil
}

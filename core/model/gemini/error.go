package gemini

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

const (
	longWait  = 300 * time.Second // longest delay that is still retried
	perMinute = time.Minute       // delay for a limit per minute if none is stated
)

// status is an error in the form of the API.
type status struct {
	Code    wire.Count `json:"code"`
	Message wire.Text  `json:"message"`
	Status  wire.Text  `json:"status"`
	Details []detail   `json:"details"`
}

// detail is a union of several kinds of error details.
type detail struct {
	Type       string `json:"@type"`
	Reason     string `json:"reason"`     // of ErrorInfo
	RetryDelay string `json:"retryDelay"` // of RetryInfo, e.g. "34.07s"
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"` // of QuotaFailure
}

// problem converts the error response of a server.
func problem(x *wire.Exchange, secrets wire.Secrets) *model.Error {
	e := &model.Error{Provider: Provider, Status: x.Status}
	s, ok := decodeStatus(x.Problem)
	if !ok {
		s = status{Message: wire.Text(wire.ServerMessage(x.Status, x.Problem))}
	}
	if x.Status >= 200 && x.Status < 300 {
		e.Status = int(s.Code) // of an error within a response
	}
	e.Code = secrets.Redact(string(s.Status))
	e.Message = secrets.Redact(string(s.Message))
	e.RetryAfter = s.delay()
	if e.RetryAfter == 0 {
		e.RetryAfter = wire.RetryAfter(x.Header, string(s.Message))
	}
	if e.RetryAfter == 0 && s.violates("PerMinute") {
		e.RetryAfter = perMinute
	}
	e.Kind = s.kind(e.Status, e.RetryAfter)
	return e
}

// decodeStatus decodes {"error": …}, also within a list.
func decodeStatus(raw []byte) (status, bool) {
	type envelope struct {
		Error *status `json:"error"`
	}
	var one envelope
	var list []envelope
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		one = list[0]
	} else if json.Unmarshal(raw, &one) != nil {
		return status{}, false
	}
	if one.Error == nil {
		return status{}, false
	}
	return *one.Error, true
}

func (s status) delay() time.Duration {
	for _, d := range s.Details {
		if delay, err := time.ParseDuration(d.RetryDelay); err == nil && delay > 0 {
			return delay
		}
	}
	return 0
}

// kind returns the class of an error.
func (s status) kind(code int, delay time.Duration) model.ErrorKind {
	kind := wire.Kind(code)
	message := strings.ToLower(string(s.Message))
	switch {
	case s.reason("API_KEY_INVALID"), strings.Contains(message, "api key not valid"), strings.Contains(message, "api key expired"):
		return model.Unauthenticated
	case code == 0 && s.Status == "":
		return model.BadAnswer
	case kind == model.InvalidRequest && tooLong().MatchString(message):
		return model.ContextExceeded
	case code == 429, code == 499, code == 503, s.Status == "RESOURCE_EXHAUSTED":
		return s.quota(kind, delay)
	}
	return kind
}

// quota distinguishes a limit that ends within minutes from a longer one.
func (s status) quota(kind model.ErrorKind, delay time.Duration) model.ErrorKind {
	if kind != model.Unavailable {
		kind = model.RateLimited
	}
	for _, reason := range []string{"QUOTA_EXHAUSTED", "MODEL_CAPACITY_EXHAUSTED", "MODEL_CAPACITY_EXCEEDED", "INSUFFICIENT_G1_CREDITS_BALANCE"} {
		if s.reason(reason) {
			return model.QuotaExhausted
		}
	}
	if s.violates("PerDay") || s.violates("Daily") || delay > longWait || noneAtAll().MatchString(string(s.Message)) {
		return model.QuotaExhausted
	}
	return kind
}

// violates reports whether the ID of a violated quota contains word.
func (s status) violates(word string) bool {
	for _, d := range s.Details {
		for _, v := range d.Violations {
			if strings.Contains(v.QuotaID, word) {
				return true
			}
		}
	}
	return false
}

func (s status) reason(reason string) bool {
	for _, d := range s.Details {
		if d.Reason == reason {
			return true
		}
	}
	return false
}

var (
	tooLong   = lazyregexp.New(`exceeds the (maximum|max) number of tokens|token count .*exceeds|context (length|window)|request payload size exceeds`)
	noneAtAll = lazyregexp.New(`\blimit: 0\b`)
)

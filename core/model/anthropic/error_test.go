package anthropic

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

func apiError(kind, message string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, message)
}

func TestErrorsOfTheAPI(t *testing.T) {
	tests := map[string]struct {
		status int
		header map[string]string
		body   string
		kind   model.ErrorKind
		code   string
		wait   time.Duration
	}{
		"bad request":       {400, nil, apiError("invalid_request_error", "messages: at least one message is required"), model.InvalidRequest, "invalid_request_error", 0},
		"too long":          {400, nil, apiError("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"), model.ContextExceeded, "invalid_request_error", 0},
		"too long together": {400, nil, apiError("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000"), model.ContextExceeded, "invalid_request_error", 0},
		"no credit":         {400, nil, apiError("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), model.QuotaExhausted, "invalid_request_error", 0},
		"billing":           {402, nil, apiError("billing_error", "pay"), model.QuotaExhausted, "billing_error", 0},
		"key":               {401, nil, apiError("authentication_error", "invalid x-api-key"), model.Unauthenticated, "authentication_error", 0},
		"permission":        {403, nil, apiError("permission_error", "no"), model.Unauthenticated, "permission_error", 0},
		"no such model":     {404, nil, apiError("not_found_error", "model: claude-x"), model.NotFound, "not_found_error", 0},
		"too large":         {413, nil, apiError("request_too_large", "Request exceeds the maximum size"), model.ContextExceeded, "request_too_large", 0},
		"too large, proxy":  {413, nil, `<html>413</html>`, model.ContextExceeded, "", 0},
		"rate":              {429, map[string]string{"Retry-After": "7"}, apiError("rate_limit_error", "slow down"), model.RateLimited, "rate_limit_error", 7 * time.Second},
		"rate, milliseconds": {
			429, map[string]string{"Retry-After": "1", "Retry-After-Ms": "250"}, apiError("rate_limit_error", "slow down"), model.RateLimited, "rate_limit_error", 250 * time.Millisecond,
		},
		"rate, past":           {429, map[string]string{"Retry-After": "-3"}, "", model.RateLimited, "", 0},
		"rate, nonsense":       {429, map[string]string{"Retry-After": "NaN"}, "", model.RateLimited, "", 0},
		"rate, without an end": {429, map[string]string{"Retry-After": "1e300"}, "", model.RateLimited, "", 7 * 24 * time.Hour},
		"server":               {500, nil, apiError("api_error", "Internal server error"), model.Unavailable, "api_error", 0},
		"server, web page":     {502, nil, "<html>Bad gateway</html>", model.Unavailable, "", 0},
		"overloaded":           {529, map[string]string{"Retry-After": "2"}, apiError("overloaded_error", "Overloaded"), model.Unavailable, "overloaded_error", 2 * time.Second},
		"timeout":              {504, nil, apiError("timeout_error", "late"), model.Unavailable, "timeout_error", 0},
		"request timeout":      {408, nil, "", model.Unavailable, "", 0},
		"another":              {418, nil, "", model.InvalidRequest, "", 0},

		// A status that blames the request takes precedence over the type next to it.
		"bad request, as a server's":          {400, nil, apiError("api_error", "no such field"), model.InvalidRequest, "api_error", 0},
		"bad request, as a rate":              {400, nil, apiError("rate_limit_error", "no such field"), model.InvalidRequest, "rate_limit_error", 0},
		"unprocessable, as a server's":        {422, nil, apiError("api_error", "no such field"), model.InvalidRequest, "api_error", 0},
		"key, as a bad request":               {401, nil, apiError("invalid_request_error", "no"), model.Unauthenticated, "invalid_request_error", 0},
		"key, as a server's":                  {401, nil, apiError("api_error", "no"), model.Unauthenticated, "api_error", 0},
		"permission, as an overload":          {403, nil, apiError("overloaded_error", "no"), model.Unauthenticated, "overloaded_error", 0},
		"no such model, as a server's":        {404, nil, apiError("api_error", "model: claude-x"), model.NotFound, "api_error", 0},
		"no such model, as a key":             {404, nil, apiError("authentication_error", "model: claude-x"), model.NotFound, "authentication_error", 0},
		"no such model, message about length": {404, nil, apiError("not_found_error", "no model; context window exceeded"), model.NotFound, "not_found_error", 0},
		"too large, as a server's":            {413, nil, apiError("api_error", "no"), model.ContextExceeded, "api_error", 0},
		"too large, as a bad request":         {400, nil, apiError("request_too_large", "no"), model.ContextExceeded, "request_too_large", 0},
		"rate, as an overload":                {429, nil, apiError("overloaded_error", "slow down"), model.RateLimited, "overloaded_error", 0},
		"rate, as a bad request":              {429, nil, apiError("invalid_request_error", "slow down"), model.RateLimited, "invalid_request_error", 0},
		"rate, as a bill":                     {429, nil, apiError("billing_error", "slow down"), model.RateLimited, "billing_error", 0},
		"rate, message about length":          {429, nil, apiError("rate_limit_error", "The input token count exceeds the maximum per minute"), model.RateLimited, "rate_limit_error", 0},
		"too long, through a gateway":         {400, nil, apiError("invalid_request_error", "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."), model.ContextExceeded, "invalid_request_error", 0},
		"too long, as unprocessable":          {422, nil, apiError("api_error", "Prompt is too long"), model.ContextExceeded, "api_error", 0},
		"timeout, by its word":                {408, nil, apiError("rate_limit_error", "slow down"), model.RateLimited, "rate_limit_error", 0},
		"client disconnected, by its code":    {499, nil, apiError("rate_limit_error", "slow down"), model.RateLimited, "rate_limit_error", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, fail(tt.status, tt.header, tt.body))
			_, err := newGenerator(t, a.URL).Generate(t.Context(), hello())
			var e *model.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tt.kind, e.Kind, "%v", e)
			require.Equal(t, tt.status, e.Status)
			require.Equal(t, tt.code, e.Code)
			require.Equal(t, tt.wait, e.RetryAfter)
			require.NotEmpty(t, e.Message)
			require.NotContains(t, e.Message, "request_id", "only the message of the API")
			require.Len(t, a.requests, 1, "retries are the caller's")
		})
	}
}

// The provider's message ends as a sentence before the remedy, whatever its punctuation.
func TestMessageOfAnInvalidKey(t *testing.T) {
	for message, want := range map[string]string{
		"invalid x-api-key":         "invalid x-api-key.",
		"wrong key: " + testKey:     "wrong key: [masked].",
		"There is no such key.":     "There is no such key.",
		`there is no key {"id": 1}`: `there is no key {"id": 1}.`,
	} {
		a := newAPI(t, fail(401, nil, apiError("authentication_error", message)))
		_, err := newGenerator(t, a.URL).Generate(t.Context(), hello())
		var e *model.Error
		require.ErrorAs(t, err, &e)
		text := "The model's provider anthropic answered with HTTP status 401: " + want
		require.Equal(t, text, e.Fault().Message)
		require.Equal(t, text+" "+e.Fault().Remedy, e.Fault().Line())
	}
}

func TestRetryAtADate(t *testing.T) {
	at := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	_, err := newGenerator(t, newAPI(t, fail(429, map[string]string{"Retry-After": at}, "")).URL).Generate(t.Context(), hello())
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.Greater(t, e.RetryAfter, 30*time.Minute)
	require.LessOrEqual(t, e.RetryAfter, time.Hour)
}

func TestNoServer(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	_, err := newGenerator(t, closed.URL).Generate(t.Context(), hello())
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, model.Connection, e.Kind)
	require.Zero(t, e.Status)
}

// A timeout of the client is not a cancellation by the caller.
func TestTimeoutOfTheClient(t *testing.T) {
	a := newAPI(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	g, err := New(Options{APIKey: testKey, BaseURL: a.URL, HTTPClient: &http.Client{Timeout: 20 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}})
	require.NoError(t, err)
	_, err = g.Generate(t.Context(), hello())
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, model.Connection, e.Kind)
}

// everything returns all output of an error, in each way of printing it.
func everything(err error) string {
	var b strings.Builder
	for ; err != nil; err = errors.Unwrap(err) {
		fmt.Fprintf(&b, "%v %+v %#v\n", err, err, err)
		var e *model.Error
		if errors.As(err, &e) {
			fmt.Fprintf(&b, "%v %s\n", e.Fault(), e.Fault().Line())
		}
	}
	return b.String()
}

func TestNoKeyInErrors(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(401)
		_, _ = io.WriteString(w, apiError("authentication_error", "the key "+r.Header.Get("X-Api-Key")+" is wrong"))
	}
	inStream := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: error\ndata: upstream said "+r.Header.Get("X-Api-Key")+"\n\n")
	}
	inEvent := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: message_start\ndata: "+r.Header.Get("X-Api-Key")+"\n\n")
	}
	for name, answer := range map[string]http.HandlerFunc{
		"status": echo, "stream": inStream, "event": inEvent,
		"plain": func(w http.ResponseWriter, r *http.Request) { http.Error(w, r.Header.Get("X-Api-Key"), 500) },
		"cut":   stream(started), "missing": http.NotFound,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newGenerator(t, newAPI(t, answer).URL).Generate(t.Context(), hello())
			require.Error(t, err)
			require.NotContains(t, everything(err), testKey)
		})
	}
	for _, base := range []string{"http://user:hunter2secret@127.0.0.1:1", "http://user:hunter2secret@127.0.0.1:1/v1/"} {
		g, err := New(Options{APIKey: testKey, BaseURL: base})
		require.NoError(t, err)
		_, err = g.Generate(t.Context(), hello())
		require.Error(t, err)
		require.NotContains(t, everything(err), testKey)
		require.NotContains(t, everything(err), "hunter2secret")
		_, err = g.CountTokens(t.Context(), hello())
		require.NotContains(t, everything(err), "hunter2secret")
	}
	g, err := New(Options{APIKey: "bad\nkey-value", BaseURL: "http://127.0.0.1:1"})
	require.NoError(t, err)
	_, err = g.Generate(t.Context(), hello())
	require.Error(t, err)
	require.NotContains(t, everything(err), "key-value")
	require.NotContains(t, fmt.Sprintf("%v %+v", g, g), "key-value", "nor where a Generator is printed")
}

func TestLongMessagesAreCut(t *testing.T) {
	_, err := newGenerator(t, newAPI(t, fail(500, nil, strings.Repeat("ä\n", 100_000))).URL).Generate(t.Context(), hello())
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.Less(t, len(e.Message), 2000)
	require.NotContains(t, e.Message, "\n")
}

// The key is not sent to the target of a redirect.
func TestRedirects(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer other.Close()
	for _, status := range []int{302, 307, 308} {
		a := newAPI(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) })
		_, err := newGenerator(t, a.URL).Generate(t.Context(), hello())
		var e *model.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, model.InvalidRequest, e.Kind, "%v", e)
		require.Contains(t, e.Message, "redirect")
	}
	require.False(t, reached)
}

func TestBaseURL(t *testing.T) {
	a := newAPI(t, stream(fullAnswer()))
	for _, base := range []string{a.URL, a.URL + "/", a.URL + "/v1", " " + a.URL + "/v1/ ", a.URL + "/proxy", a.URL + "/proxy/v1"} {
		_, err := newGenerator(t, base).Generate(t.Context(), hello())
		require.NoError(t, err, base)
		want := "/v1/messages"
		if strings.Contains(base, "proxy") {
			want = "/proxy/v1/messages"
		}
		require.Equal(t, want, a.last(t).path, base)
	}
	_, err := New(Options{BaseURL: " "})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.ErrorContains(t, err, "no key")
	for _, base := range []string{"127.0.0.1:8080", "ftp://host", "http://", "http://a b/", "http://user:hunter2secret@ho st/"} {
		_, err := New(Options{BaseURL: base})
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), base)
		require.NotContains(t, everything(err), "hunter2secret")
	}
}

// Only the program reads the environment.
func TestEnvironmentIsNotRead(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the address of the environment was asked") }))
	defer elsewhere.Close()
	t.Setenv("ANTHROPIC_BASE_URL", elsewhere.URL)
	t.Setenv("ANTHROPIC_API_KEY", "from-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "from-the-environment")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: from-the-environment")
	a := newAPI(t, stream(fullAnswer()))
	g, err := New(Options{BaseURL: a.URL, HTTPClient: a.Client()})
	require.NoError(t, err)
	_, err = g.Generate(t.Context(), hello())
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprint(a.last(t).header), "from-the-environment")
	require.Empty(t, a.last(t).header.Values("X-Api-Key"), "no key, no header")
	require.Nil(t, a.Client().CheckRedirect, "the caller's client is not changed")
}

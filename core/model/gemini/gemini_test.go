package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/gemini"
	"github.com/fettle-dev/fettle/core/model/internal/wiretest"
)

const key = "AIzaSy-test-key-0123456789"

// stream is a response in the form of the API, with thoughts, text beyond ASCII, two calls of which
// one has a signature, and a number that float64 cannot represent.
const stream = `data: {"candidates": [{"content": {"parts": [{"text": "**Think** ","thought": true}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 9,"totalTokenCount": 9},"modelVersion": "gemini-3-pro","responseId": "r1"}

data: {"candidates": [{"content": {"parts": [{"text": "hard","thought": true}],"role": "model"},"index": 0}],"modelVersion": "gemini-3-pro","responseId": "r1"}

data: {"candidates": [{"content": {"parts": [{"text": "Grüße, 世界 "}],"role": "model"},"index": 0}]}

data: {"candidates": [{"content": {"parts": [{"text": "🙂<b>&"}],"role": "model"},"index": 0,"citationMetadata":{"citationSources":[{"uri":"https://example.com/a"}]}}]}

data: {"candidates": [{"content": {"parts": [{"functionCall": {"id":"c1","name": "read_file","args": {"n": 9007199254740993, "f": 1.10, "p": "a<b>"}},"thoughtSignature": "AQID/+8="},{"functionCall": {"id":"c2","name": "glob","args": {}}}],"role": "model"},"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 12,"candidatesTokenCount": 34,"cachedContentTokenCount": 4,"thoughtsTokenCount": 5,"toolUsePromptTokenCount": 2,"totalTokenCount": 53}}

`

var whole = &model.Response{
	ID: "r1", Model: "gemini-3-pro", Finish: model.FinishStop,
	Content: model.Content{Role: model.RoleModel, Parts: []model.Part{
		{Text: "**Think** hard", Thought: true},
		{Text: "Grüße, 世界 🙂<b>&"},
		{
			Call:      &model.FunctionCall{ID: "c1", Name: "read_file", Args: json.RawMessage(`{"n": 9007199254740993, "f": 1.10, "p": "a<b>"}`)},
			Signature: []byte{1, 2, 3, 0xff, 0xef}, Provider: "gemini",
		},
		{Call: &model.FunctionCall{ID: "c2", Name: "glob", Args: json.RawMessage(`{}`)}},
	}},
	Usage:     model.Usage{Input: 12, Output: 34, Cached: 4, Thoughts: 5, Tool: 2, Total: 53},
	Citations: []string{"https://example.com/a"},
}

func newGenerator(t testing.TB, s *wiretest.Server) model.Generator {
	g, err := gemini.New(gemini.Options{APIKey: key, BaseURL: s.URL, HTTPClient: s.Client()})
	require.NoError(t, err)
	return g
}

func ask(text string) *model.Request {
	return &model.Request{Model: "gemini-2.5-pro", Contents: []model.Content{model.UserText(text)}}
}

func asError(t testing.TB, err error) *model.Error {
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "gemini", e.Provider)
	require.NotContains(t, fmt.Sprintf("%v %+v %v", err, e, e.Fault().Error()), key)
	return e
}

func TestStream(t *testing.T) {
	for name, a := range map[string]wiretest.Answer{
		"at once":       {Body: stream},
		"byte by byte":  {Body: stream, Bytewise: true},
		"unframed":      {Body: stream, Unframed: true},
		"CRLF":          {Body: strings.ReplaceAll(stream, "\n", "\r\n")},
		"no last line":  {Body: strings.TrimRight(stream, "\n")},
		"with comments": {Body: ": hello\n\n" + strings.ReplaceAll(stream, "data: ", "event: x\nid: 1\ndata: ")},
		"as a list":     {Body: "[" + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(stream), "\n\ndata: ", "\n,\n"), "data: ", "") + "]", Header: map[string]string{"Content-Type": "application/json"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := wiretest.Serve(t, a)
			r, err := model.Collect(newGenerator(t, s).Stream(t.Context(), ask("hi")))
			require.NoError(t, err)
			require.Equal(t, whole, r)
			require.Equal(t, "/v1beta/models/gemini-2.5-pro:streamGenerateContent", s.Last().Path)
			require.Equal(t, key, s.Last().Header.Get("x-goog-api-key"))
			require.NotContains(t, s.Last().Query, key)
			require.Len(t, s.Requests(), 1)
		})
	}
}

func TestGenerate(t *testing.T) {
	body := `{"candidates": [{"content": {"parts": [{"text": "a"},{"functionCall":{"name":"t","args":{"n":12345678901234567890}}}]},"finishReason":"STOP"}],
  "usageMetadata": {"promptTokenCount": 1}}`
	s := wiretest.Serve(t, wiretest.Answer{Body: body, Header: map[string]string{"Content-Type": "application/json"}})
	r, err := newGenerator(t, s).Generate(t.Context(), ask("hi"))
	require.NoError(t, err)
	require.Equal(t, "a", r.Content.Text())
	calls := r.Content.Calls()
	require.Len(t, calls, 1)
	require.JSONEq(t, `{"n":12345678901234567890}`, string(calls[0].Args))
	require.Contains(t, string(calls[0].Args), "12345678901234567890")
	require.NotEmpty(t, calls[0].ID, "one without an ID gets one")
	require.Equal(t, "/v1beta/models/gemini-2.5-pro:generateContent", s.Last().Path)
}

// The response is the same wherever the stream is split, also within a rune.
func TestStreamSplitAnywhere(t *testing.T) {
	for i := 0; i <= len(stream); i++ {
		g, err := gemini.New(gemini.Options{APIKey: key, HTTPClient: &http.Client{Transport: wiretest.Pieces{[]byte(stream[:i]), []byte(stream[i:])}}})
		require.NoError(t, err)
		r, err := model.Collect(g.Stream(t.Context(), ask("hi")))
		require.NoError(t, err, "at %d", i)
		require.Equal(t, whole, r, "at %d", i)
	}
}

// step returns n, or 1 if every position is to be tried.
func step(n int) int {
	if os.Getenv("FETTLE_FULL") == "1" {
		return 1
	}
	return n
}

// A connection that breaks anywhere is an error of kind connection, and no incomplete call is
// passed on.
func TestStreamCutAnywhere(t *testing.T) {
	for name, unframed := range map[string]bool{"broken": false, "looks like an end": true} {
		t.Run(name, func(t *testing.T) {
			last := strings.LastIndex(strings.TrimSpace(stream), "}")
			for i := 0; i <= last; i += step(7) {
				s := wiretest.Serve(t, wiretest.Answer{Body: stream[:i], Cut: !unframed, Unframed: unframed})
				r, err := model.Collect(newGenerator(t, s).Stream(t.Context(), ask("hi")))
				require.Nil(t, r, "at %d", i)
				require.Equal(t, model.Connection, asError(t, err).Kind, "at %d: %v", i, err)
				require.Len(t, s.Requests(), 1, "the SDK tries once")
			}
		})
	}
}

func TestGenerateCut(t *testing.T) {
	body := `{"candidates": [{"content": {"parts": [{"text": "abc"}]},"finishReason":"STOP"}]}`
	for i := 0; i < len(body); i += 5 {
		for _, unframed := range []bool{false, true} {
			s := wiretest.Serve(t, wiretest.Answer{Body: body[:i], Cut: !unframed, Unframed: unframed})
			_, err := newGenerator(t, s).Generate(t.Context(), ask("hi"))
			require.Equal(t, model.Connection, asError(t, err).Kind, "at %d: %v", i, err)
		}
	}
}

// Responses that the API does not send never panic and never succeed.
func TestBadAnswers(t *testing.T) {
	for name, body := range map[string]string{
		"no JSON":                   "data: {not json}\n\n",
		"candidates are a text":     `data: {"candidates":"x"}` + "\n\n",
		"content is a list":         `data: {"candidates":[{"content":[1]}]}` + "\n\n",
		"a web page":                "<html><body>proxy</body></html>",
		"a signature is not base64": `data: {"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"%%%"}]},"finishReason":"STOP"}]}` + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := wiretest.Serve(t, wiretest.Answer{Body: body})
			_, err := model.Collect(newGenerator(t, s).Stream(t.Context(), ask("hi")))
			require.Equal(t, model.BadAnswer, asError(t, err).Kind)
			_, err = newGenerator(t, s).Generate(t.Context(), ask("hi"))
			require.Equal(t, model.BadAnswer, asError(t, err).Kind)
		})
	}
	s := wiretest.Serve(t, wiretest.Answer{Body: "{}", Header: map[string]string{"Content-Type": "application/json"}})
	_, err := newGenerator(t, s).Generate(t.Context(), ask("hi"))
	require.Equal(t, model.BadAnswer, asError(t, err).Kind)
}

func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]model.FinishReason{
		"STOP": model.FinishStop, "MAX_TOKENS": model.FinishMaxTokens, "SAFETY": model.FinishSafety, "PROHIBITED_CONTENT": model.FinishSafety,
		"RECITATION": model.FinishRecitation, "MALFORMED_FUNCTION_CALL": model.FinishMalformedCall,
		"UNEXPECTED_TOOL_CALL": model.FinishUnexpected, "LANGUAGE": model.FinishOther, "SOMETHING_NEW": model.FinishOther,
	} {
		s := wiretest.Serve(t, wiretest.Answer{Body: `data: {"candidates":[{"finishReason":"` + reason + `"}]}` + "\n\n"})
		r, err := model.Collect(newGenerator(t, s).Stream(t.Context(), ask("hi")))
		require.NoError(t, err, reason)
		require.Equal(t, want, r.Finish, reason)
	}
	s := wiretest.Serve(t, wiretest.Answer{Body: `data: {"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":3}}` + "\n\n"})
	r, err := model.Collect(newGenerator(t, s).Stream(t.Context(), ask("hi")))
	require.NoError(t, err)
	require.Equal(t, model.FinishSafety, r.Finish)
	require.Equal(t, 3, r.Usage.Input)
}

func apiError(code int, status, message, details string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q,"details":[%s]}}`, code, message, status, details)
}

func TestErrors(t *testing.T) {
	quota := func(id string) string {
		return `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"m","quotaId":"` + id + `"}]}`
	}
	retry := func(delay string) string {
		return `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + delay + `"}`
	}
	info := func(reason string) string {
		return `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"` + reason + `","domain":"googleapis.com"}`
	}
	tests := map[string]struct {
		status int
		body   string
		header map[string]string
		kind   model.ErrorKind
		after  time.Duration
	}{
		"rate, with a delay":         {429, apiError(429, "RESOURCE_EXHAUSTED", "slow down", quota("GenerateRequestsPerMinutePerProject")+","+retry("34.07s")), nil, model.RateLimited, 34070 * time.Millisecond},
		"rate, a minute":             {429, apiError(429, "RESOURCE_EXHAUSTED", "slow down", quota("GenerateRequestsPerMinutePerProject")), nil, model.RateLimited, time.Minute},
		"rate, delay in the message": {429, apiError(429, "RESOURCE_EXHAUSTED", "Please retry in 2.5s.", ""), nil, model.RateLimited, 2500 * time.Millisecond},
		"rate, no details":           {429, apiError(429, "RESOURCE_EXHAUSTED", "slow down", ""), map[string]string{"Retry-After": "7"}, model.RateLimited, 7 * time.Second},
		"a day":                      {429, apiError(429, "RESOURCE_EXHAUSTED", "enough", quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier")+","+retry("20s")), nil, model.QuotaExhausted, 20 * time.Second},
		"no quota at all":            {429, apiError(429, "RESOURCE_EXHAUSTED", "Quota exceeded for metric: x, limit: 0", ""), nil, model.QuotaExhausted, 0},
		"a limit above zero":         {429, apiError(429, "RESOURCE_EXHAUSTED", "Quota exceeded for metric: x, limit: 10", ""), nil, model.RateLimited, 0},
		"a long delay":               {429, apiError(429, "RESOURCE_EXHAUSTED", "enough", retry("301s")), nil, model.QuotaExhausted, 301 * time.Second},
		"a reason":                   {429, apiError(429, "RESOURCE_EXHAUSTED", "enough", info("QUOTA_EXHAUSTED")), nil, model.QuotaExhausted, 0},
		"overloaded":                 {503, apiError(503, "UNAVAILABLE", "The model is overloaded.", ""), nil, model.Unavailable, 0},
		"internal":                   {500, apiError(500, "INTERNAL", "oops", ""), nil, model.Unavailable, 0},
		"a proxy's page":             {502, "<html><head><title>502 Bad Gateway</title></head></html>", nil, model.Unavailable, 0},
		"bad request":                {400, apiError(400, "INVALID_ARGUMENT", "bad field", ""), nil, model.InvalidRequest, 0},
		"too long":                   {400, apiError(400, "INVALID_ARGUMENT", "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).", ""), nil, model.ContextExceeded, 0},
		"bad key":                    {400, apiError(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key: "+key, info("API_KEY_INVALID")), nil, model.Unauthenticated, 0},
		"no key":                     {401, apiError(401, "UNAUTHENTICATED", "who are you", ""), nil, model.Unauthenticated, 0},
		"forbidden":                  {403, apiError(403, "PERMISSION_DENIED", "no", ""), nil, model.Unauthenticated, 0},
		"no model":                   {404, apiError(404, "NOT_FOUND", "models/x is not found", ""), nil, model.NotFound, 0},
		"no body":                    {500, "", nil, model.Unavailable, 0},
		"in a list":                  {429, "[" + apiError(429, "RESOURCE_EXHAUSTED", "slow down", retry("3s")) + "]", nil, model.RateLimited, 3 * time.Second},
		"in the stream":              {200, "data: " + apiError(503, "UNAVAILABLE", "overloaded", "") + "\n\n", nil, model.Unavailable, 0},
		"bare in the stream":         {200, apiError(429, "RESOURCE_EXHAUSTED", "slow down", retry("3s")), nil, model.RateLimited, 3 * time.Second},
		"a redirect":                 {307, "", map[string]string{"Location": "/elsewhere"}, model.InvalidRequest, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := wiretest.Serve(t, wiretest.Answer{Status: tt.status, Body: tt.body, Header: tt.header})
			g := newGenerator(t, s)
			_, err := model.Collect(g.Stream(t.Context(), ask("hi")))
			e := asError(t, err)
			require.Equal(t, tt.kind, e.Kind, e.Error())
			require.Equal(t, tt.after, e.RetryAfter)
			require.NotEmpty(t, e.Message)
			if tt.status >= 300 {
				require.Equal(t, tt.status, e.Status)
			}
			_, err = g.Generate(t.Context(), ask("hi"))
			require.Equal(t, tt.kind, asError(t, err).Kind)
			require.Len(t, s.Requests(), 2, "each is tried once")
		})
	}
}

func TestUnreachable(t *testing.T) {
	g, err := gemini.New(gemini.Options{APIKey: key, BaseURL: "http://user:a-password@127.0.0.1:1"})
	require.NoError(t, err)
	_, err = model.Collect(g.Stream(t.Context(), ask("hi")))
	e := asError(t, err)
	require.Equal(t, model.Connection, e.Kind)
	require.Zero(t, e.Status)
	require.NotContains(t, e.Fault().Error(), "a-password")
}

// The test needs no timer: the server reports that the client has disconnected.
func TestCancelled(t *testing.T) {
	first := stream[:strings.Index(stream, "\n\n")+2]
	s := wiretest.Serve(t, wiretest.Answer{Body: first, Hang: true})
	g := newGenerator(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	var last error
	for chunk, err := range g.Stream(ctx, ask("hi")) {
		if chunk != nil {
			cancel()
		}
		last = err
	}
	require.Equal(t, model.Canceled, asError(t, last).Kind)
	require.ErrorIs(t, last, context.Canceled)
	<-s.Gone

	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err := g.Generate(ctx, ask("hi"))
	require.Equal(t, model.Canceled, asError(t, err).Kind)
	require.Len(t, s.Requests(), 1)
}

func TestLeavingTheLoopFreesTheConnection(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream[:strings.Index(stream, "\n\n")+2], Hang: true})
	for range newGenerator(t, s).Stream(t.Context(), ask("hi")) {
		break
	}
	<-s.Gone
}

// Only ctx ends a request: a response may take long.
func TestTheTimeoutOfTheClientIsNotUsed(t *testing.T) {
	client := &http.Client{Timeout: 1, Transport: wiretest.Pieces{[]byte(stream)}}
	g, err := gemini.New(gemini.Options{APIKey: key, HTTPClient: client})
	require.NoError(t, err)
	_, err = model.Collect(g.Stream(t.Context(), ask("hi")))
	require.NoError(t, err)
	require.EqualValues(t, 1, client.Timeout, "the client is not changed")

	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	_, err = model.Collect(g.Stream(ctx, ask("hi")))
	require.Equal(t, model.Canceled, asError(t, err).Kind)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestNoGoroutineIsLeft(t *testing.T) {
	g, err := gemini.New(gemini.Options{APIKey: key, HTTPClient: &http.Client{Transport: wiretest.Pieces{[]byte(stream)}}})
	require.NoError(t, err)
	before := runtime.NumGoroutine()
	for range 20 {
		for range g.Stream(t.Context(), ask("hi")) {
			break
		}
		_, err := model.Collect(g.Stream(t.Context(), ask("hi")))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

func TestStreamBeginsWithTheRanging(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream})
	_ = newGenerator(t, s).Stream(t.Context(), ask("hi"))
	require.Empty(t, s.Requests())
}

func TestConcurrentUse(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream})
	g := newGenerator(t, s)
	errs := make(chan error, 32)
	var wg sync.WaitGroup
	for range cap(errs) {
		wg.Go(func() {
			r, err := model.Collect(g.Stream(t.Context(), ask("hi")))
			if err == nil && len(r.Content.Parts) != len(whole.Content.Parts) {
				err = errors.New("a part is missing")
			}
			errs <- err
		})
	}
	wg.Wait()
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
}

func TestNew(t *testing.T) {
	t.Setenv("GEMINI_API_KEY", "from-the-environment")
	_, err := gemini.New(gemini.Options{})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Remedy, "GEMINI_API_KEY")
	for _, base := range []string{"ftp://x", "example.com", "http://", "://"} {
		_, err = gemini.New(gemini.Options{APIKey: key, BaseURL: base})
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), base)
		require.Contains(t, fault.As(err).Remedy, "GOOGLE_GEMINI_BASE_URL")
	}
}

// The base URL may contain the version.
func TestBaseURLWithTheVersion(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream})
	g, err := gemini.New(gemini.Options{APIKey: key, BaseURL: s.URL + "/proxy/v1beta/"})
	require.NoError(t, err)
	_, err = model.Collect(g.Stream(t.Context(), &model.Request{Model: "mine", Contents: []model.Content{model.UserText("hi")}}))
	require.NoError(t, err)
	require.Equal(t, "/proxy/v1beta/models/mine:streamGenerateContent", s.Last().Path)
}

func TestEnvironmentIsNotRead(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream})
	for _, name := range []string{"GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"} {
		t.Setenv(name, "true")
	}
	_, err := model.Collect(newGenerator(t, s).Stream(t.Context(), ask("hi")))
	require.NoError(t, err)
	require.Equal(t, key, s.Last().Header.Get("x-goog-api-key"))
}

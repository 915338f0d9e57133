package openai_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wiretest"
	"github.com/fettle-dev/fettle/core/model/openai"
)

func TestErrors(t *testing.T) {
	body := func(code, kind, message string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, message, kind, code)
	}
	tests := map[string]struct {
		status int
		body   string
		header map[string]string
		kind   model.ErrorKind
		after  time.Duration
	}{
		"rate, header":         {429, body("rate_limit_exceeded", "requests", "slow down"), map[string]string{"Retry-After": "7"}, model.RateLimited, 7 * time.Second},
		"rate, milliseconds":   {429, body("rate_limit_exceeded", "requests", "slow down"), map[string]string{"Retry-After-Ms": "250", "Retry-After": "1"}, model.RateLimited, 250 * time.Millisecond},
		"rate, words":          {429, body("rate_limit_exceeded", "tokens", "Please try again in 1m2.5s."), nil, model.RateLimited, 62500 * time.Millisecond},
		"quota":                {429, body("insufficient_quota", "insufficient_quota", "check your plan"), nil, model.QuotaExhausted, 0},
		"payment":              {402, `{"error":{"message":"Insufficient Balance"}}`, nil, model.QuotaExhausted, 0},
		"internal":             {500, body("", "server_error", "oops"), nil, model.Unavailable, 0},
		"a proxy's page":       {502, "<html><head><title>502 Bad Gateway</title></head></html>", nil, model.Unavailable, 0},
		"bad request":          {400, body("", "invalid_request_error", "bad field"), nil, model.InvalidRequest, 0},
		"too long":             {400, body("context_length_exceeded", "invalid_request_error", "This model's maximum context length is 8192 tokens."), nil, model.ContextExceeded, 0},
		"too long, vLLM":       {400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","param":null,"code":400}`, nil, model.ContextExceeded, 0},
		"too long, llama.cpp":  {400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, nil, model.ContextExceeded, 0},
		"too many a minute":    {413, `{"error":{"message":"Request too large for model on tokens per minute (TPM)","type":"tokens","code":"rate_limit_exceeded"}}`, nil, model.RateLimited, 0},
		"bad key":              {401, body("invalid_api_key", "invalid_request_error", "Incorrect API key provided: "+key), nil, model.Unauthenticated, 0},
		"forbidden":            {403, body("", "", "no"), nil, model.Unauthenticated, 0},
		"no model":             {404, body("model_not_found", "invalid_request_error", "no such model"), nil, model.NotFound, 0},
		"error is a text":      {500, `{"error":"it broke"}`, nil, model.Unavailable, 0},
		"error is a list":      {400, `{"error":{"message":["a","b"]}}`, nil, model.InvalidRequest, 0},
		"detail":               {404, `{"detail":"Not Found"}`, nil, model.NotFound, 0},
		"plain text":           {503, "no healthy upstream", nil, model.Unavailable, 0},
		"no body":              {500, "", nil, model.Unavailable, 0},
		"in the stream":        {200, "data: " + body("rate_limit_exceeded", "", "slow down") + "\n\n", nil, model.RateLimited, 0},
		"in the stream, text":  {200, `data: {"error":"it broke"}` + "\n\n", nil, model.Unavailable, 0},
		"in the stream, event": {200, "event: error\n" + `data: {"error":{"message":"it broke","code":502}}` + "\n\n", nil, model.Unavailable, 0},
		"in the stream, bare":  {200, `{"error":{"message":"maximum context length","code":400}}` + "\n", nil, model.ContextExceeded, 0},
		"in a choice":          {200, `data: {"choices":[{"delta":{"content":""},"finish_reason":"error","error":{"code":429,"message":"slow down"}}]}` + "\n\n", nil, model.RateLimited, 0},
		"a page instead":       {200, "<!DOCTYPE html><html></html>", map[string]string{"Content-Type": "text/html"}, model.BadAnswer, 0},
		"no JSON":              {200, "data: {oops}\n\n", nil, model.BadAnswer, 0},
		"a redirect":           {307, "", map[string]string{"Location": "/elsewhere"}, model.InvalidRequest, 0},
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
			_, err = g.Generate(t.Context(), ask("hi"))
			require.Equal(t, tt.kind, asError(t, err).Kind)
			require.Len(t, s.Requests(), 2, "each is tried once")
		})
	}
}

// The chunks before an error in the stream have been passed on.
func TestErrorAfterText(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n" + `data: {"error":{"message":"overloaded","code":503}}` + "\n\n", Hang: true})
	var text string
	var err error
	for chunk, e := range newGenerator(t, s).Stream(t.Context(), ask("hi")) {
		if err = e; chunk != nil {
			text += model.Content{Parts: chunk.Parts}.Text()
		}
	}
	require.Equal(t, "a", text)
	e := asError(t, err)
	require.Equal(t, model.Unavailable, e.Kind)
	require.Equal(t, 503, e.Status)
	require.Equal(t, "overloaded", e.Message)
}

// If a server rejects a field, the request is sent again without it, once. All later requests omit
// it.
func TestRefusedFields(t *testing.T) {
	refuse := func(message string) wiretest.Answer {
		return wiretest.Answer{Status: 400, Body: `{"error":{"message":"` + message + `"}}`, Header: asJSON}
	}
	r := ask("hi")
	r.MaxOutputTokens = 100
	t.Run("stream_options", func(t *testing.T) {
		s := wiretest.Serve(t, refuse("unknown field stream_options"), wiretest.Answer{Body: stream})
		g := newGenerator(t, s)
		for range 2 {
			_, err := model.Collect(g.Stream(t.Context(), r))
			require.NoError(t, err)
		}
		require.Len(t, s.Requests(), 3)
		require.Contains(t, string(s.Requests()[0].Body), "stream_options")
		require.NotContains(t, string(s.Requests()[1].Body), "stream_options")
		require.NotContains(t, string(s.Requests()[2].Body), "stream_options")
	})
	t.Run("max_tokens", func(t *testing.T) {
		s := wiretest.Serve(t, refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."), wiretest.Answer{Body: answerBody, Header: asJSON})
		g := newGenerator(t, s)
		for range 2 {
			_, err := g.Generate(t.Context(), r)
			require.NoError(t, err)
		}
		require.Len(t, s.Requests(), 3)
		require.Contains(t, string(s.Requests()[0].Body), `"max_tokens":100`)
		require.Contains(t, string(s.Requests()[2].Body), `"max_completion_tokens":100`)
	})
	t.Run("for ever", func(t *testing.T) {
		s := wiretest.Serve(t, refuse("stream_options max_completion_tokens are wrong"))
		_, err := model.Collect(newGenerator(t, s).Stream(t.Context(), r))
		require.Equal(t, model.InvalidRequest, asError(t, err).Kind)
		require.Len(t, s.Requests(), 3)
	})
}

func TestUnreachable(t *testing.T) {
	g, err := openai.New(openai.Options{APIKey: key, BaseURL: "http://user:a-password@127.0.0.1:1/v1"})
	require.NoError(t, err)
	_, err = model.Collect(g.Stream(t.Context(), ask("hi")))
	e := asError(t, err)
	require.Equal(t, model.Connection, e.Kind)
	require.Zero(t, e.Status)
	require.NotContains(t, e.Fault().Error(), "a-password")
}

package websearch_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/websearch"
)

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

const key = "AIza-top-secret"

func newGemini(t testing.TB, o websearch.GeminiOptions, h http.HandlerFunc) *websearch.Gemini {
	t.Helper()
	o.Key, o.BaseURL = key, serve(t, h).URL+"/proxy/"
	g, err := websearch.NewGemini(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	return g
}

// failed requires that a search failed, with the given words in its message and without the key.
func failed(t testing.TB, err error, words string) {
	t.Helper()
	require.Equal(t, fault.WebSearchFailed, fault.CodeOf(err), "%v", err)
	require.Contains(t, err.Error(), words)
	require.NotContains(t, err.Error(), key)
	require.NotEmpty(t, fault.As(err).Remedy)
}

// TO-12: the wire format of an answer with citations.
func TestGemini(t *testing.T) {
	g := newGemini(t, websearch.GeminiOptions{Model: "models/gemini-x"}, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "POST /proxy/v1beta/models/gemini-x:generateContent", r.Method+" "+r.URL.Path)
		require.Equal(t, key, r.Header.Get("x-goog-api-key"))
		require.Empty(t, r.URL.RawQuery)
		sent, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.JSONEq(t, `{"contents":[{"role":"user","parts":[{"text":"who \"won\"?"}]}],"tools":[{"google_search":{}}]}`, string(sent))
		_, _ = io.WriteString(w, `{"candidates":[{"content":{"role":"model","parts":[
			{"text":"Zürich"},{"text":"thinking","thought":true},{"text":" won."}]},
			"groundingMetadata":{"webSearchQueries":["x"],
				"groundingChunks":[{"web":{"uri":"https://a.test/","title":"A"}},{"retrievedContext":{}},{"web":{"uri":"https://b.test/"}}],
				"groundingSupports":[
					{"segment":{"endIndex":7,"text":"Zürich"},"groundingChunkIndices":[0]},
					{"segment":{"partIndex":2,"startIndex":1,"endIndex":4},"groundingChunkIndices":[0,2]},
					{"segment":{"partIndex":2,"endIndex":99},"groundingChunkIndices":[0]},
					{"segment":{"partIndex":1,"endIndex":1},"groundingChunkIndices":[0]},
					{"segment":{"partIndex":-1,"endIndex":1},"groundingChunkIndices":[0]},
					{"segment":{"partIndex":9,"endIndex":1},"groundingChunkIndices":[0]}]}}]}`)
	})
	a, err := g.Search(t.Context(), `who "won"?`)
	require.NoError(t, err)
	require.Equal(t, websearch.Answer{
		Text:      "Zürich won.",
		Sources:   []websearch.Source{{Title: "A", URL: "https://a.test/"}, {}, {URL: "https://b.test/"}},
		Citations: []websearch.Citation{{End: 7, Sources: []int{0}}, {End: 11, Sources: []int{0, 2}}},
	}, a)
}

// The message of the service is part of the error; the key is not.
func TestGeminiErrors(t *testing.T) {
	for name, c := range map[string]struct {
		status      int
		body, words string
		otherRemedy bool
	}{
		"bad key":   {400, `{"error":{"code":400,"message":"API key not valid: ` + key + `","status":"INVALID_ARGUMENT"}}`, "status 400 Bad Request: INVALID_ARGUMENT API key not valid: [masked].", false},
		"quota":     {429, `{"error":{"message":"Quota exceeded."}}`, "status 429 Too Many Requests: Quota exceeded.", true},
		"down":      {503, `<html>`, "status 503 Service Unavailable.", true},
		"blocked":   {200, `{"promptFeedback":{"blockReason":"SAFETY"}}`, "refused the query, with reason SAFETY", true},
		"nothing":   {200, `{}`, "refused the query, without a reason", true},
		"no JSON":   {200, `hello`, "cannot be decoded", false},
		"odd JSON":  {200, `{"candidates":"x"}`, "cannot be decoded", false},
		"redirect":  {302, ``, "status 302 Found", false},
		"too large": {200, strings.Repeat(" ", 5000), "more than 4096 bytes", false},
	} {
		g := newGemini(t, websearch.GeminiOptions{Transport: websearch.Transport{MaxBytes: 4096}}, func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, "/proxy/v1beta/models/gemini-2.5-flash:generateContent", r.URL.Path)
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		_, err := g.Search(t.Context(), "x")
		failed(t, err, c.words)
		require.Equal(t, !c.otherRemedy, strings.Contains(fault.As(err).Remedy, "settings"), name)
	}
}

func TestGeminiSlow(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice the closed connection
		<-r.Context().Done()
	}
	g := newGemini(t, websearch.GeminiOptions{Transport: websearch.Transport{Timeout: 100 * time.Millisecond}}, hang)
	_, err := g.Search(t.Context(), "x")
	failed(t, err, "did not respond within 100ms")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.Search(ctx, "x")
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))

	closed := serve(t, hang)
	closed.Close()
	g, err = websearch.NewGemini(websearch.GeminiOptions{Key: key, BaseURL: closed.URL})
	require.NoError(t, err)
	_, err = g.Search(t.Context(), "x")
	failed(t, err, "cannot be reached")
}

func TestGeminiOptions(t *testing.T) {
	for _, o := range []websearch.GeminiOptions{{}, {Key: " "}, {Key: "a\nb"}, {Key: key, BaseURL: "ftp://x"}, {Key: key, BaseURL: "http://"}, {Key: key, BaseURL: ":"}} {
		_, err := websearch.NewGemini(o)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
		require.NotContains(t, err.Error(), key)
	}
	_, err := websearch.NewGemini(websearch.GeminiOptions{Key: key})
	require.NoError(t, err)
}

// An invalid response of a service is only an error.
func FuzzGemini(f *testing.F) {
	f.Add(`{"candidates":[{"content":{"parts":[{"text":"é"}]},"groundingMetadata":{"groundingSupports":[{"segment":{"endIndex":1}}]}}]}`)
	f.Add(`{"candidates":[{}]}`)
	f.Add(`[`)
	var body string
	server := serve(f, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	g, err := websearch.NewGemini(websearch.GeminiOptions{Key: key, BaseURL: server.URL})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, answer string) {
		body = answer
		a, err := g.Search(t.Context(), "x")
		if err == nil && !json.Valid([]byte(answer)) {
			t.Errorf("%q was read as %+v", answer, a)
		}
		for _, c := range a.Citations {
			if c.End < 0 || c.End > len(a.Text) {
				t.Errorf("a citation at %d of %d bytes", c.End, len(a.Text))
			}
		}
	})
}

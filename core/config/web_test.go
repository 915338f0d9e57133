package config_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/webfetch"
	"github.com/fettle-dev/fettle/core/services/websearch"
)

// searcher finds its query.
type searcher struct{}

func (searcher) Search(_ context.Context, query string) (websearch.Answer, error) {
	return websearch.Answer{Text: "about " + query, Sources: []websearch.Source{{Title: "A page", URL: "https://example.com/"}}}, nil
}

// TO-12: a page is fetched with approval, with its address shown; a private one
// only if the embedder allows it.
func TestWebFetch(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<h1>Title</h1><p>Some <b>text</b>.</p>"))
	}))
	defer server.Close()
	guarded := configtest.New(t)
	r := guarded.Call("web_fetch", map[string]any{"url": server.URL})
	require.Equal(t, scheduler.StatusError, r.Status)
	require.Equal(t, fault.PrivateAddress, r.Result.Error.Reason)

	s := configtest.New(t, func(p *config.Parameters) { p.Tools.WebFetch = webfetch.Options{Allow: []string{"127.0.0.1"}} })
	r = s.Call("web_fetch", map[string]any{"url": server.URL + "/page"})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	require.Contains(t, r.Result.LLMContent.String(), "Some **text**.")
	require.Len(t, s.Confirmations(), 1)
	require.Equal(t, []string{server.URL + "/page"}, s.Confirmations()[0].Details.URLs)

	c := newConfig(t, config.Parameters{Tools: config.Tools{WebFetch: webfetch.Options{Allow: []string{"not//a host"}}}})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(c.Initialize(t.Context())))
}

// TO-12: web_search is registered if there is a search service, under the
// layout's name.
func TestWebSearch(t *testing.T) {
	require.NotContains(t, names(t, configtest.New(t).Config), "web_search")
	for l, name := range map[string]string{"fettle": "web_search", "gemini": "google_web_search"} {
		s := configtest.New(t, func(p *config.Parameters) {
			p.Tools.WebSearch = searcher{}
			p.Environment.Layout, _ = layout.Named(l)
		})
		require.Contains(t, names(t, s.Config), name)
		r := s.Call("web_search", map[string]any{"query": "it"})
		require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
		require.Contains(t, r.Result.LLMContent.String(), "about it")
		require.Contains(t, r.Result.LLMContent.String(), "https://example.com/")
		require.Len(t, s.Confirmations(), 1, "it tells somebody else what is looked for")
	}
}

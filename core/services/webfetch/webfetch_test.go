package webfetch_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/webfetch"
)

// newService returns a service that is closed with the test. Its guard allows the servers of the
// test.
func newService(t testing.TB, o webfetch.Options, servers ...*httptest.Server) *webfetch.Service {
	t.Helper()
	for _, s := range servers {
		o.Allow = append(o.Allow, s.Listener.Addr().String())
	}
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	s, err := webfetch.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// one fetches one URL.
func one(t testing.TB, s *webfetch.Service, rawURL string) webfetch.Page {
	t.Helper()
	pages := s.Fetch(t.Context(), []string{rawURL})
	require.Len(t, pages, 1)
	require.Equal(t, rawURL, pages[0].URL)
	return pages[0]
}

// get fetches one URL from a server with the handler h.
func get(t testing.TB, o webfetch.Options, h http.HandlerFunc) webfetch.Page {
	t.Helper()
	server := serve(t, h)
	return one(t, newService(t, o, server), server.URL)
}

// text is a handler that responds with a body of a content type.
func text(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if contentType == "" {
			w.Header()["Content-Type"] = nil // keeps the server from sniffing
		} else {
			w.Header().Set("Content-Type", contentType)
		}
		_, _ = w.Write([]byte(body))
	}
}

// refused requires that a page failed with the given words in message or remedy.
func refused(t testing.TB, p webfetch.Page, words string) {
	t.Helper()
	require.NotNil(t, p.Err, "%+v", p)
	require.Equal(t, fault.WebFetchProcessing, p.Err.Code, "%v", p.Err)
	require.Contains(t, p.Err.Message+" "+p.Err.Remedy, words)
	require.NotEmpty(t, p.Err.Remedy)
}

func TestFetch(t *testing.T) {
	var header http.Header
	p := get(t, webfetch.Options{UserAgent: "fettle/1.2.3"}, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		text("text/html; charset=utf-8", "<title>T</title><h1>Hello</h1><p>one <b>two</b></p>")(w, r)
	})
	require.Nil(t, p.Err)
	require.Equal(t, "Title: T\n\n# Hello\n\none **two**", p.Text)
	require.Equal(t, 200, p.Status)
	require.Equal(t, "text/html", p.ContentType)
	require.Equal(t, p.URL, strings.TrimSuffix(p.FinalURL, "/"))
	require.False(t, p.Truncated)
	require.Equal(t, "fettle/1.2.3", header.Get("User-Agent"))
	for _, never := range []string{"Authorization", "Cookie", "Referer"} {
		require.Empty(t, header.Values(never))
	}
}

// Only text is shown; any other type is refused, and the message names the type.
func TestContentTypes(t *testing.T) {
	const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	for _, c := range []struct{ contentType, body, want, refusal string }{
		{"text/plain", "a < b & c\n", "a < b & c\n", ""},
		{"text/markdown; charset=UTF-8", "# *x*", "# *x*", ""},
		{"application/json", `{"a": "<b>"}`, `{"a": "<b>"}`, ""},
		{"application/vnd.api+json", `{}`, `{}`, ""},
		{"application/rss+xml", "<rss/>", "<rss/>", ""},
		{"APPLICATION/XML", "<a/>", "<a/>", ""},
		{"application/javascript", "let a", "let a", ""},
		{"text/html;charset", "<p>x", "x", ""},
		{"application/xhtml+xml", "<p>x</p>", "x", ""},
		{"", "<!DOCTYPE html><p>x", "x", ""},
		{"", "plain", "plain", ""},
		{"nonsense", "plain", "plain", ""},
		{"text/plain", "BM is a magic number, \x01 is not", "", "image/bmp"},
		{"text/plain", "BM is a magic number", "BM is a magic number", ""},
		{"text/plain", "", "", ""},
		{"image/png", png, "", "image/png (16 bytes)"},
		{"application/pdf", "%PDF-1.7", "", "application/pdf"},
		{"application/octet-stream", "x", "", "application/octet-stream"},
		{"text/html", png, "", "The server reports the type text/html, but the response is not text (image/png, 16 bytes)."},
		{"", png, "", "image/png"},
		{"text/plain", "a\x00b", "", "not text"},
	} {
		p := get(t, webfetch.Options{}, text(c.contentType, c.body))
		if c.refusal != "" {
			refused(t, p, c.refusal)
			require.Empty(t, p.Text)
			continue
		}
		require.Nil(t, p.Err, "%q", c.contentType)
		require.Equal(t, c.want, p.Text)
	}
}

// A response without success is an error that shows the beginning of the body.
func TestStatus(t *testing.T) {
	for status, words := range map[int]string{
		404: "status 404 Not Found.", 403: "status 403 Forbidden.", 500: "status 500 Internal Server Error.", 302: "status 302 Found.", 599: "status 599",
	} {
		p := get(t, webfetch.Options{MaxErrorChars: 4}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(status)
			_, _ = w.Write([]byte("é234567"))
		})
		refused(t, p, words)
		require.Equal(t, status, p.Status)
		require.Equal(t, "é234", p.Text)
		require.True(t, p.Truncated)
	}
	p := get(t, webfetch.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("\x89PNG"))
	})
	refused(t, p, "404")
	require.Nil(t, get(t, webfetch.Options{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }).Err)
}

func TestNotAnswering(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	refused(t, one(t, newService(t, webfetch.Options{AllowPrivate: true}), "http://"+l.Addr().String()), l.Addr().String())

	server := httptest.NewTLSServer(text("text/plain", "x"))
	defer server.Close()
	refused(t, one(t, newService(t, webfetch.Options{}, server), server.URL), "certificate")

	plain := serve(t, text("text/plain", "x"))
	refused(t, one(t, newService(t, webfetch.Options{}, plain), strings.Replace(plain.URL, "http:", "https:", 1)), "failed")
}

// Short pages leave their remainder to longer pages.
func TestShare(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, err := fmt.Sscanf(r.URL.Path, "/%d", &n)
		require.NoError(t, err)
		text("text/plain", strings.Repeat("ö", n))(w, r)
	})
	s := newService(t, webfetch.Options{MaxChars: 100}, server)
	for _, c := range []struct{ sizes, want []int }{
		{[]int{101}, []int{100}},
		{[]int{100}, []int{100}},
		{[]int{60, 10, 60}, []int{45, 10, 45}},
		{[]int{500, 1, 30, 500}, []int{34, 1, 30, 35}},
		{[]int{0, 100}, []int{0, 100}},
	} {
		var urls []string
		for _, n := range c.sizes {
			urls = append(urls, fmt.Sprintf("%s/%d", server.URL, n))
		}
		for i, p := range s.Fetch(t.Context(), urls) {
			require.Nil(t, p.Err)
			require.Len(t, []rune(p.Text), c.want[i], "%v", c.sizes)
			require.Equal(t, c.want[i] < c.sizes[i], p.Truncated)
		}
	}
}

// The GitHub page of a file is replaced with the file.
func TestGitHub(t *testing.T) {
	var asked []string
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Host)
		http.Error(w, "no", http.StatusForbidden)
	})
	s := newService(t, webfetch.Options{Proxy: through(proxy), Resolver: resolver(t, map[string][]string{"raw.githubusercontent.com": {"93.184.215.14"}})})
	p := one(t, s, "https://github.com/o/r/blob/main/a%20b/c.go#L3")
	require.NotNil(t, p.Err)
	require.Contains(t, p.Notice, "GitHub")
	require.Equal(t, []string{"raw.githubusercontent.com:443"}, asked)
	for _, other := range []string{"https://github.com/o/r", "https://github.com/o/r/tree/main/a", "https://example.com/o/r/blob/main/a", "https://github.com/o/r/blob/main/"} {
		require.Empty(t, one(t, s, other).Notice, other)
	}
}

// Close cancels running calls and leaves no goroutine.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	arrived, done := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			close(arrived)
			<-r.Context().Done()
			return
		}
		text("text/plain", "x")(w, r)
	}))
	s, err := webfetch.New(webfetch.Options{AllowPrivate: true, Timeout: time.Hour, CallTimeout: time.Hour})
	require.NoError(t, err)
	require.Nil(t, one(t, s, server.URL).Err)
	go func() {
		defer close(done)
		p := s.Fetch(t.Context(), []string{server.URL + "/hang"})[0]
		if p.Err == nil || p.Err.Code != fault.Cancelled {
			t.Errorf("%v", p.Err)
		}
	}()
	<-arrived
	require.NoError(t, s.Close())
	<-done
	require.NoError(t, s.Close())
	require.Equal(t, fault.NotInitialized, one(t, s, server.URL).Err.Code)
	server.Close()
	require.LessOrEqual(t, goroutines(before), before)
}

// goroutines returns the number of goroutines after it has fallen to want. A goroutine that has
// reported its end still needs a moment to exit.
func goroutines(want int) int {
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > want && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	return runtime.NumGoroutine()
}

func TestOptions(t *testing.T) {
	for _, entry := range []string{"", "a b", "http://x", "10.0.0.0/33", "x:0", "x:99999", "*.x", "[::1", "fe80::1%eth0", "a/b"} {
		_, err := webfetch.New(webfetch.Options{Allow: []string{entry}})
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), entry)
		require.Contains(t, err.Error(), fmt.Sprintf("%q", entry))
	}
	for _, entry := range []string{"x", "X.Example.", "x:80", "1.2.3.4", "1.2.3.4:80", "::1", "[::1]", "[::1]:80", "10.0.0.0/8", "fc00::/7", "müller.test"} {
		_, err := webfetch.New(webfetch.Options{Allow: []string{entry}})
		require.NoError(t, err, entry)
	}
}

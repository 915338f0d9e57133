package webfetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/webfetch"
)

// hang never responds.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// drip responds byte by byte, without end.
func drip(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_, _ = w.Write([]byte("."))
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// flood responds without end, as fast as possible.
func flood(w http.ResponseWriter, r *http.Request) {
	block := bytes.Repeat([]byte("flood"), 10_000)
	for r.Context().Err() == nil {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// A slow server cannot exceed the time limits.
func TestSlowServers(t *testing.T) {
	o := webfetch.Options{Timeout: 100 * time.Millisecond}
	for name, h := range map[string]http.HandlerFunc{
		"never answers": hang,
		"byte by byte":  drip,
		"header, no body": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			hang(w, r)
		},
		"hangs after a redirect": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/hang", http.StatusFound)
				return
			}
			hang(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, get(t, o, h), "was not fetched within 100ms")
		})
	}
}

// A server that accepts connections and never responds.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	for _, scheme := range []string{"http://", "https://"} {
		s := newService(t, webfetch.Options{Timeout: 100 * time.Millisecond, AllowPrivate: true})
		refused(t, one(t, s, scheme+l.Addr().String()), "was not fetched within 100ms")
	}
}

// Reading stops at the limit, whatever size the server announces.
func TestLargeBodies(t *testing.T) {
	const most = 64 << 10
	o := webfetch.Options{MaxBytes: most, Timeout: time.Hour, CallTimeout: time.Hour}
	p := get(t, o, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10737418240")
		w.Header().Set("Content-Type", "text/plain")
		flood(w, r)
	})
	refused(t, p, "The response has 10737418240 bytes, more than 65536.")
	require.Equal(t, 200, p.Status)
	refused(t, get(t, o, flood), "The response has more than 65536 bytes.")
	exact := strings.Repeat("x", most)
	require.Nil(t, get(t, o, text("text/plain", exact)).Err)
	refused(t, get(t, o, text("text/plain", exact+"x")), "more than 65536")

	zip := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	bomb := compress(t, strings.Repeat(" ", 100*most), zip)
	require.Less(t, len(bomb), most)
	refused(t, get(t, o, encoded("gzip", bomb)), "more than 65536 bytes after decompression")
	refused(t, get(t, o, encoded("gzip, gzip", compress(t, bomb, zip))), "more than 65536 bytes after decompression")
}

// Headers are limited too.
func TestHeaderBombs(t *testing.T) {
	refused(t, get(t, webfetch.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Bomb", strings.Repeat("x", 1<<20))
	}), "failed")
	refused(t, get(t, webfetch.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 20_000 {
			w.Header().Set(fmt.Sprintf("X-%d", i), "xxxxxxxx")
		}
	}), "failed")
	refused(t, get(t, webfetch.Options{}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/"+strings.Repeat("x", 200_000), http.StatusFound)
	}), "redirects to a URL of")
}

func TestRedirects(t *testing.T) {
	var hops atomic.Int32
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			hops.Add(1)
			http.Redirect(w, r, "/loop", http.StatusMovedPermanently)
		case "/a":
			http.Redirect(w, r, "b/c?x=1", http.StatusTemporaryRedirect)
		default:
			text("text/html", `<a href="d">d</a>`)(w, r)
		}
	})
	s := newService(t, webfetch.Options{}, server)
	refused(t, one(t, s, server.URL+"/loop"), "redirects more than 10 times")
	require.EqualValues(t, 11, hops.Load())
	p := one(t, s, server.URL+"/a")
	require.Nil(t, p.Err)
	require.Equal(t, server.URL+"/b/c?x=1", p.FinalURL)
	require.Equal(t, "[d]("+server.URL+"/b/d)", p.Text)
	refused(t, one(t, newService(t, webfetch.Options{MaxRedirects: -1}, server), server.URL+"/a"), "redirects more than 0 times")
}

// A redirect from https to http is not followed.
func TestDowngrade(t *testing.T) {
	hits := 0
	plain := serve(t, func(http.ResponseWriter, *http.Request) { hits++ })
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, plain.URL, http.StatusFound)
		}
	}))
	defer secure.Close()
	tls := secure.Client().Transport.(*http.Transport).TLSClientConfig
	s := newService(t, webfetch.Options{TLS: tls}, plain, secure)
	refused(t, one(t, s, secure.URL+"/"), "from https to "+plain.URL)
	require.Zero(t, hits)
	require.Nil(t, one(t, s, secure.URL+"/ok").Err)
	upgrade := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, secure.URL+"/ok", http.StatusFound) })
	require.Nil(t, one(t, newService(t, webfetch.Options{TLS: tls}, upgrade, secure), upgrade.URL).Err)
}

// A temporary failure is retried, up to the limit.
func TestRetries(t *testing.T) {
	var tries atomic.Int32
	reset := func(w http.ResponseWriter) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = c.(*net.TCPConn).SetLinger(0) // a reset instead of an orderly close
			_ = c.Close()
		}
	}
	failing := func(times int32, fail func(w http.ResponseWriter)) http.HandlerFunc {
		tries.Store(0)
		return func(w http.ResponseWriter, r *http.Request) {
			if tries.Add(1) <= times {
				fail(w)
				return
			}
			text("text/plain", "at last")(w, r)
		}
	}
	status := func(code int, retryAfter string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			if retryAfter != "" {
				w.Header().Set("Retry-After", retryAfter)
			}
			w.WriteHeader(code)
		}
	}
	o := webfetch.Options{}
	for name, fail := range map[string]func(w http.ResponseWriter){
		"503": status(503, ""), "429": status(429, "0"), "500": status(500, "soon"), "past": status(503, "Mon, 02 Jan 2006 15:04:05 GMT"), "reset": reset,
	} {
		require.Equal(t, "at last", get(t, o, failing(2, fail)).Text, name)
		require.EqualValues(t, 3, tries.Load(), name)
		p := get(t, o, failing(3, fail))
		require.NotNil(t, p.Err, name)
		require.EqualValues(t, 3, tries.Load(), name)
		require.NotNil(t, get(t, webfetch.Options{Retries: -1}, failing(1, fail)).Err)
		require.EqualValues(t, 1, tries.Load(), name)
	}
	for name, after := range map[string]string{"seconds": "3600", "date": "Mon, 02 Jan 2090 15:04:05 GMT"} { // above the time limit
		refused(t, get(t, o, failing(1, status(429, after))), "status 429")
		require.EqualValues(t, 1, tries.Load(), name)
	}
	refused(t, get(t, o, failing(1, status(404, ""))), "status 404")
	require.EqualValues(t, 1, tries.Load())
}

// The rate of fetches from one host is limited.
func TestPerMinute(t *testing.T) {
	var mu sync.Mutex
	now := time.Now()
	pass := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	server, other := serve(t, text("text/plain", "x")), serve(t, text("text/plain", "x"))
	redirects := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, server.URL, http.StatusFound) })
	s := newService(t, webfetch.Options{PerMinute: 2, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}}, server, other, redirects)
	require.Nil(t, one(t, s, server.URL).Err)
	pass(30 * time.Second)
	require.Nil(t, one(t, s, server.URL).Err)
	p := one(t, s, server.URL)
	refused(t, p, "2 requests within a minute")
	require.Equal(t, "Wait 31 seconds before the next request to it.", p.Err.Remedy)
	refused(t, one(t, s, redirects.URL), "2 requests")
	require.Nil(t, one(t, s, other.URL).Err)
	pass(30 * time.Second)
	require.Nil(t, one(t, s, server.URL).Err)
	refused(t, one(t, s, server.URL), "2 requests")
	free := newService(t, webfetch.Options{PerMinute: -1}, server)
	for range 100 {
		require.Nil(t, one(t, free, server.URL).Err)
	}
}

// A slow page does not delay the others, and the results are in the order of the URLs.
func TestManyPages(t *testing.T) {
	var others sync.WaitGroup
	others.Add(19)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang":
			hang(w, r)
		case "/7":
			others.Wait()
		default:
			defer others.Done()
		}
		text("text/plain", r.URL.Path)(w, r)
	})
	var urls []string
	for i := range 20 {
		urls = append(urls, fmt.Sprintf("%s/%d", server.URL, i))
	}
	s := newService(t, webfetch.Options{Timeout: time.Hour, CallTimeout: time.Hour}, server)
	for i, p := range s.Fetch(t.Context(), urls) {
		require.Nil(t, p.Err)
		require.Equal(t, urls[i], p.URL)
		require.Equal(t, fmt.Sprintf("/%d", i), p.Text)
	}
	s = newService(t, webfetch.Options{Parallel: 1, CallTimeout: 100 * time.Millisecond}, server)
	pages := s.Fetch(t.Context(), []string{server.URL + "/hang", server.URL + "/hang", server.URL + "/hang"})
	for _, p := range pages {
		refused(t, p, "100ms")
	}
	require.Empty(t, s.Fetch(t.Context(), nil))
}

// A cancelled call returns, with an error for each unfinished page.
func TestCancel(t *testing.T) {
	arrived := make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		hang(w, r)
	})
	s := newService(t, webfetch.Options{Timeout: time.Hour, CallTimeout: time.Hour}, server)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		<-arrived
		cancel(errors.New("enough"))
	}()
	require.Equal(t, fault.Cancelled, s.Fetch(ctx, []string{server.URL})[0].Err.Code)
	require.Equal(t, fault.Cancelled, s.Fetch(ctx, []string{server.URL})[0].Err.Code)
}

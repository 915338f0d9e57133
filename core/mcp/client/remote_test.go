//go:build unix

package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/client"
)

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return web
}

func streamable(server *sdk.Server, o *sdk.StreamableHTTPOptions) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, o)
}

// The spec's headers are sent with each request, except for the protocol's own.
func TestHeaders(t *testing.T) {
	settled(t)
	var requests, bare atomic.Int32
	handler := streamable(newServer(nil), nil)
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Header.Get("X-Api-Key") != "k" || r.Header.Get("Content-Type") == "odd" {
			bare.Add(1)
		}
		handler.ServeHTTP(w, r)
	})
	s := dial(t, mcp.ServerSpec{Name: "h", URL: web.URL, Headers: map[string]string{"x-api-key": "k", "Content-Type": "odd"}}, mcp.Handlers{})
	_, err := s.Call(t.Context(), "echo", nil, nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Positive(t, requests.Load())
	require.Zero(t, bare.Load())
}

// Nothing is sent to another origin, neither by a redirect nor by the endpoint of
// an SSE server.
func TestOtherOrigin(t *testing.T) {
	settled(t)
	var reached atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	handler := streamable(newServer(nil), nil)
	for name, h := range map[string]http.HandlerFunc{
		"redirected": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
		"endpoint": func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				http.Error(w, "no", http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s/x\n\n", other.URL)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			web := serve(t, h)
			spec := mcp.ServerSpec{Name: "o", URL: web.URL, Headers: map[string]string{"X-Api-Key": "k"}}
			if name == "endpoint" {
				spec.Transport = mcp.TransportSSE
			}
			_, err := client.New(client.Options{}).Dial(t.Context(), spec, mcp.Handlers{})
			require.Equal(t, fault.MCPServerUnavailable, fault.CodeOf(err))
			require.Contains(t, fault.As(err).Message, `"`+other.URL+`", a different origin`)
		})
	}
	require.Zero(t, reached.Load())

	own := serve(t, func(w http.ResponseWriter, r *http.Request) { // to the same server it is sent
		if r.URL.Path != "/mcp" {
			http.Redirect(w, r, "/mcp", http.StatusTemporaryRedirect)
			return
		}
		handler.ServeHTTP(w, r)
	})
	s := dial(t, mcp.ServerSpec{Name: "o", URL: own.URL}, mcp.Handlers{})
	require.NoError(t, s.Close())
}

// Without a configured transport, streamable HTTP is tried first, then SSE for
// servers that refuse as one without streamable HTTP does, and only for these.
func TestFallback(t *testing.T) {
	tests := map[string]struct {
		status int
		sse    bool
		code   fault.Code
		want   string
	}{
		"400": {status: 400, sse: true}, "404": {status: 404, sse: true}, "405": {status: 405, sse: true},
		"401": {status: 401, code: fault.MCPSignInRequired, want: "requires authentication"},
		"403": {status: 403, code: fault.MCPSignInRequired, want: "requires authentication"},
		"500": {status: 500, code: fault.MCPServerUnavailable, want: "HTTP status 500"},
		"410": {status: 410, code: fault.MCPServerUnavailable, want: "HTTP status 410"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			settled(t)
			sse := sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return newServer(nil) }, nil)
			web := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && !r.URL.Query().Has("sessionid") {
					http.Error(w, "no", tt.status)
					return
				}
				sse.ServeHTTP(w, r)
			})
			s, err := client.New(client.Options{}).Dial(t.Context(), mcp.ServerSpec{Name: "f", URL: web.URL}, mcp.Handlers{})
			if tt.sse {
				require.NoError(t, err)
				require.Equal(t, mcp.TransportSSE, s.Info().Transport)
				require.NoError(t, s.Close())
				_, err = client.New(client.Options{}).Dial(t.Context(), mcp.ServerSpec{Name: "f", URL: web.URL, Transport: mcp.TransportHTTP}, mcp.Handlers{})
				require.Contains(t, fault.As(err).Message, "HTTP status "+name)
				return
			}
			require.Equal(t, tt.code, fault.CodeOf(err), "%v", err)
			require.Contains(t, fault.As(err).Message, tt.want)
		})
	}
}

// A server that has forgotten the session ends it; a stopped server fails calls.
func TestRestart(t *testing.T) { // the servers' own goroutines are not ended
	var handler atomic.Pointer[http.Handler]
	fresh := func() { h := streamable(newServer(nil), nil); handler.Store(&h) }
	fresh()
	web := serve(t, func(w http.ResponseWriter, r *http.Request) { (*handler.Load()).ServeHTTP(w, r) })
	s := dial(t, mcp.ServerSpec{Name: "r", URL: web.URL}, mcp.Handlers{})
	fresh()
	_, err := s.Call(t.Context(), "echo", nil, nil)
	require.Error(t, err)
	<-s.Done()
	require.Contains(t, fault.As(s.Err()).Message, "does not know the session any more")
	again := dial(t, mcp.ServerSpec{Name: "r", URL: web.URL}, mcp.Handlers{})
	require.NoError(t, again.Close())
}

// A result larger than the limit fails only its call; one of at most that size
// arrives, as events and as a single answer.
func TestLargeRemote(t *testing.T) {
	for name, plain := range map[string]bool{"events": false, "answer": true} {
		t.Run(name, func(t *testing.T) {
			settled(t)
			server := newServer(nil)
			server.AddTool(&sdk.Tool{Name: "big", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				var args struct{ N int }
				_ = json.Unmarshal(r.Params.Arguments, &args)
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", args.N)}}}, nil
			})
			web := httptest.NewServer(streamable(server, &sdk.StreamableHTTPOptions{JSONResponse: plain}))
			t.Cleanup(web.Close)
			limit := 2 << 20
			if os.Getenv("FETTLE_FULL") != "" {
				limit = 65 << 20
			}
			s, err := client.New(client.Options{MaxMessage: limit}).Dial(t.Context(), mcp.ServerSpec{Name: "l", URL: web.URL}, mcp.Handlers{})
			require.NoError(t, err)
			defer s.Close() //nolint:errcheck // ends it
			for _, tt := range []struct {
				size int
				ok   bool
			}{{limit - 1<<20, true}, {limit + 1, false}, {10, true}} {
				r, err := s.Call(t.Context(), "big", json.RawMessage(fmt.Sprintf(`{"N":%d}`, tt.size)), nil)
				if !tt.ok {
					require.Equal(t, fault.MCPToolError, fault.CodeOf(err), "%v", err)
					require.Contains(t, fault.As(err).Message, "more than the limit")
					continue
				}
				require.NoError(t, err)
				require.Len(t, r.Content[0].Text, tt.size)
			}
			require.NoError(t, s.Err())
		})
	}
}

// The proxy function is called for each connection.
func TestProxy(t *testing.T) {
	settled(t)
	handler := streamable(newServer(nil), nil)
	var hosts atomic.Value
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hosts.Store(r.URL.Host)
		r.Host = "localhost" // which the server checks
		handler.ServeHTTP(w, r)
	})
	at, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	s, err := client.New(client.Options{Proxy: http.ProxyURL(at)}).Dial(t.Context(), mcp.ServerSpec{Name: "p", URL: "http://server.invalid/mcp", Transport: mcp.TransportHTTP}, mcp.Handlers{})
	require.NoError(t, err)
	require.Equal(t, "server.invalid", hosts.Load())
	require.NoError(t, s.Close())
}

// signIn is an [auth.OAuthHandler] that returns a token once it was requested.
type signIn struct {
	token atomic.Value
}

func (s *signIn) Handler(mcp.ServerSpec) auth.OAuthHandler { return s }

func (s *signIn) TokenSource(context.Context) (oauth2.TokenSource, error) {
	token, _ := s.token.Load().(string)
	if token == "" {
		return nil, nil
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token}), nil
}

func (s *signIn) Authorize(_ context.Context, _ *http.Request, r *http.Response) error {
	_ = r.Body.Close()
	s.token.Store("good")
	return nil
}

// Signing in works over HTTP and SSE, with the token in the header or the query.
func TestSignIn(t *testing.T) {
	for name, tt := range map[string]struct {
		transport mcp.Transport
		param     string
	}{"http": {transport: mcp.TransportHTTP}, "sse": {transport: mcp.TransportSSE}, "query": {mcp.TransportSSE, "tok"}} {
		t.Run(name, func(t *testing.T) {
			settled(t)
			server := newServer(nil)
			handler := streamable(server, nil)
			if tt.transport == mcp.TransportSSE {
				handler = sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil)
			}
			web := serve(t, func(w http.ResponseWriter, r *http.Request) {
				token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
				if tt.param != "" {
					token = r.URL.Query().Get(tt.param)
				}
				if token != "good" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				handler.ServeHTTP(w, r)
			})
			s, err := client.New(client.Options{Auth: &signIn{}}).Dial(t.Context(), mcp.ServerSpec{
				Name: "a", URL: web.URL, Transport: tt.transport, OAuth: &mcp.OAuthSpec{TokenParamName: tt.param},
			}, mcp.Handlers{})
			require.NoError(t, err)
			_, err = s.Call(t.Context(), "echo", nil, nil)
			require.NoError(t, err)
			require.NoError(t, s.Close())
		})
	}
}

// A server that does not answer blocks no caller.
func TestHangingRemote(t *testing.T) {
	settled(t)
	web := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	_, err := client.New(client.Options{}).Dial(t.Context(), mcp.ServerSpec{Name: "w", URL: web.URL, ConnectTimeout: 50 * time.Millisecond}, mcp.Handlers{})
	require.Equal(t, fault.MCPServerUnavailable, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Message, "not ready in time")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = client.New(client.Options{}).Dial(ctx, mcp.ServerSpec{Name: "w", URL: web.URL}, mcp.Handlers{})
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
}

// A call that a server may have run although it did not answer is reported as such; one that it did not
// take is not.
func TestUnknownEffect(t *testing.T) { // the servers' own goroutines are not ended
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, nobody.Close())
	for name, tt := range map[string]struct {
		answer  func(w http.ResponseWriter)
		unknown bool
	}{
		"the stream ends": {func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }, true},
		"accepted":        {func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) }, true},
		"empty":           {func(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/json") }, true},
		"text":            {func(w http.ResponseWriter) { fmt.Fprint(w, "fine") }, true},
		"broken off":      {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, true},
		"a gateway":       {func(w http.ResponseWriter) { w.WriteHeader(http.StatusGatewayTimeout) }, true},
		"bad request":     {func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadRequest) }, false},
		"gone":            {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			handler := streamable(newServer(&sdk.ServerOptions{SupportedProtocolVersions: []string{"2025-06-18"}}), nil)
			web := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err == nil && strings.Contains(string(body), "tools/call") {
					tt.answer(w)
					return
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				handler.ServeHTTP(w, r)
			})
			var gone atomic.Bool
			dialer := client.New(client.Options{Proxy: func(*http.Request) (*url.URL, error) {
				if gone.Load() {
					return &url.URL{Scheme: "http", Host: nobody.Addr().String()}, nil
				}
				return nil, nil
			}})
			s, err := dialer.Dial(t.Context(), mcp.ServerSpec{Name: "w", URL: web.URL, Transport: mcp.TransportHTTP}, mcp.Handlers{})
			require.NoError(t, err)
			defer s.Close() //nolint:errcheck // ends it
			gone.Store(tt.answer == nil)
			_, err = s.Call(t.Context(), "echo", nil, nil)
			f := fault.As(err)
			require.NotNil(t, f)
			require.Equal(t, fault.MCPServerUnavailable, f.Code, "%v", err)
			require.Equal(t, tt.unknown, strings.Contains(f.Message, "Whether the call took effect is unknown."), f.Message)
			require.Equal(t, tt.unknown, strings.Contains(f.Remedy, "Check its effects before you try again."), f.Remedy)
		})
	}
}

package client

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/fettle-dev/fettle/core/mcp"
)

// signing simulates a user who signs in.
type signing struct {
	token     oauth2.TokenSource
	authorize func()
}

func (s *signing) Handler(mcp.ServerSpec) auth.OAuthHandler { return s }

func (s *signing) TokenSource(context.Context) (oauth2.TokenSource, error) { return s.token, nil }

func (s *signing) Authorize(_ context.Context, _ *http.Request, r *http.Response) error {
	_ = r.Body.Close()
	s.authorize()
	s.token = oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "good"})
	return nil
}

// The connection timeout is suspended while the user signs in, and only then.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t.Context(), 10*time.Second)
		defer c.end()
		time.Sleep(4 * time.Second)
		p := &patient{&signing{authorize: func() { time.Sleep(time.Hour) }}, c}
		require.NoError(t, p.Authorize(t.Context(), nil, &http.Response{Body: http.NoBody}))
		time.Sleep(6*time.Second - time.Nanosecond)
		synctest.Wait()
		require.NoError(t, c.ctx.Err())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(c.ctx), errSlow)
	})
}

// The connection timeout is suspended during a sign-in over every transport.
func TestSignInStopsTheClock(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	get := func(*http.Request) *sdk.Server { return server }
	for name, handler := range map[string]http.Handler{
		"http": sdk.NewStreamableHTTPHandler(get, nil), "sse": sdk.NewSSEHandler(get, nil),
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer good" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(web.Close)
			c := newClock(t.Context(), time.Minute)
			defer c.end()
			asked := 0
			o := Options{Auth: &signing{authorize: func() {
				asked++
				if c.timer.Stop() {
					t.Error("the clock runs")
				}
			}}}
			s, err := New(o).dial(c, mcp.ServerSpec{Name: "s", URL: web.URL, Transport: mcp.Transport(name)}, mcp.Handlers{})
			require.NoError(t, err)
			require.Equal(t, 1, asked)
			require.NoError(t, s.Close())
		})
	}
}

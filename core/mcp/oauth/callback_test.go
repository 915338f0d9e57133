package oauth_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp/oauth"
)

// A configured redirect URI is used literally.
func TestRedirectURI(t *testing.T) {
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		_, port, err := net.SplitHostPort(l.Addr().String())
		require.NoError(t, err)
		return port
	}
	for name, redirect := range map[string]string{
		"port": "http://localhost:" + free() + "/back", "address": "http://127.0.0.1:" + free(), "slash": "http://127.0.0.1:" + free() + "/",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.spec.OAuth.RedirectURI = redirect
			w.ok()
			require.Equal(t, redirect, w.authorizations[0].Get("redirect_uri"))
		})
	}
	t.Run("no port", func(t *testing.T) {
		w := newWorld(t)
		w.spec.OAuth.RedirectURI = "http://127.0.0.1/here"
		w.ok()
		require.Regexp(t, `^http://127\.0\.0\.1:\d+/here$`, w.authorizations[0].Get("redirect_uri"))
	})
	for name, bad := range map[string]string{
		"another machine": "http://example.com/cb", "https": "https://127.0.0.1/cb", "custom": "fettle://cb", "query": "http://127.0.0.1/cb?x=1", "junk": "http://[",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.spec.OAuth.RedirectURI = bad
			w.fails(fault.InvalidConfig, "oauth.redirectUri")
			require.Zero(t, w.opens)
		})
	}
	t.Run("taken", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		w := newWorld(t)
		w.spec.OAuth.RedirectURI = "http://" + l.Addr().String() + "/cb"
		w.fails(fault.InvalidConfig, "cannot be opened")
	})
}

// The callback page accepts only the response to its own sign-in.
func TestCallback(t *testing.T) {
	w := newWorld(t)
	o := w.options(w.path)
	o.OpenURL = func(ctx context.Context, address string) error {
		u, _ := url.Parse(address)
		back, state := u.Query().Get("redirect_uri"), u.Query().Get("state")
		get := func(method, address, host string) *http.Response {
			r, err := http.NewRequestWithContext(ctx, method, address, nil)
			if err != nil {
				t.Error(err)
				return nil
			}
			if host != "" {
				r.Host = host
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
				return nil
			}
			_ = resp.Body.Close()
			return resp
		}
		for name, tt := range map[string]struct {
			method, address, host string
			want                  int
		}{
			"no state":     {"GET", back + "?code=x", "", 400},
			"wrong state":  {"GET", back + "?code=x&state=" + strings.ToLower(state), "", 400},
			"another path": {"GET", strings.TrimSuffix(back, "/oauth/callback") + "/?code=x&state=" + state, "", 404},
			"a post":       {"POST", back + "?code=x&state=" + state, "", 404},
			"another host": {"GET", back + "?code=x&state=" + state, "evil.example:80", 403},
		} {
			if resp := get(tt.method, tt.address, tt.host); resp != nil && resp.StatusCode != tt.want {
				t.Errorf("%s: status %d", name, resp.StatusCode)
			}
		}
		if err := w.open(ctx, address); err != nil {
			return err
		}
		return nil
	}
	w.service = oauth.New(o)
	w.ok()
	require.Len(t, w.authorizations, 1)
}

func TestNobodyAnswers(t *testing.T) {
	w := newWorld(t)
	o := w.options(w.path)
	o.CallbackTimeout = 20 * time.Millisecond
	o.OpenURL = func(context.Context, string) error { return nil }
	w.service = oauth.New(o)
	w.fails(fault.MCPSignInRequired, "within 20ms")

	o.CallbackTimeout = 0
	ctx, cancel := context.WithCancel(t.Context())
	var redirect string
	o.OpenURL = func(ctx context.Context, address string) error {
		u, _ := url.Parse(address)
		redirect = u.Query().Get("redirect_uri")
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	_, err := w.callCtx(ctx, oauth.New(o), w.spec, true)
	w.tells(err, fault.Cancelled, "cancelled")
	require.ErrorIs(t, err, context.Canceled)
	u, err := url.Parse(redirect)
	require.NoError(t, err)
	_, err = net.Dial("tcp", u.Host)
	require.Error(t, err, "nobody listens any more")
}

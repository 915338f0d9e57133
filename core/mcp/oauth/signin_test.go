package oauth_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/oauth"
)

// EX-15: a complete sign-in: discovery, registration as a public client, PKCE
// (verified by the fixture), the resource, and the stored token.
func TestSignInByTheWay(t *testing.T) {
	w := newWorld(t)
	w.needs, w.lifetime = []string{"files"}, 3600
	w.ok()
	w.ok()
	require.Equal(t, 1, w.opens, "once is enough")
	require.Equal(t, 1, len(w.registrations))
	reg := w.registrations[0]
	require.Equal(t, "none", reg["token_endpoint_auth_method"])
	require.Equal(t, []any{"authorization_code", "refresh_token"}, reg["grant_types"])
	require.Equal(t, "native", reg["application_type"])
	require.Equal(t, "fettle", reg["client_name"])
	q := w.authorizations[0]
	require.Equal(t, "S256", q.Get("code_challenge_method"))
	require.Equal(t, w.rs.URL+"/mcp", q.Get("resource"))
	require.Equal(t, "files", q.Get("scope"))
	u, err := url.Parse(q.Get("redirect_uri"))
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", u.Hostname())
	require.Equal(t, "/oauth/callback", u.Path)
	require.Equal(t, w.rs.URL+"/mcp", w.tokenForms[0].Get("resource"))

	_, err = net.Dial("tcp", u.Host)
	require.Error(t, err, "nobody listens any more")

	signed, err := w.service.Tokens(t.Context())
	require.NoError(t, err)
	require.Equal(t, []oauth.SignedIn{{
		Server: "srv", URL: w.spec.URL, Issuer: w.as.URL, Scopes: []string{"files"}, Until: w.now.Add(time.Hour), Refreshes: true,
	}}, signed)

	// Another process can use the token.
	status, err := w.call(w.another(w.path), w.spec, false)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 1, w.opens)

	removed, err := w.service.SignOut(t.Context(), "srv")
	require.NoError(t, err)
	require.True(t, removed)
	_, err = w.call(w.service, w.spec, false)
	w.tells(err, fault.MCPSignInRequired, "requires a sign-in")
	removed, err = w.service.SignOut(t.Context(), "srv")
	require.NoError(t, err)
	require.False(t, removed)
}

// EX-15: without an interactive user, or without permission in the settings, the
// error explains what to do.
func TestNobodyToAsk(t *testing.T) {
	w := newWorld(t)
	for name, tt := range map[string]struct {
		oauth       *mcp.OAuthSpec
		interactive bool
	}{
		"headless":    {&mcp.OAuthSpec{Enabled: true}, false},
		"not enabled": {&mcp.OAuthSpec{}, true},
		"no settings": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			spec := w.spec
			spec.OAuth = tt.oauth
			_, err := w.call(w.service, spec, tt.interactive)
			f := w.tells(err, fault.MCPSignInRequired, `"srv" requires a sign-in`)
			require.Equal(t, "Run `fettle mcp auth srv`.", f.Remedy)
		})
	}
	o := w.options("")
	o.OpenURL = nil
	_, err := w.call(oauth.New(o), w.spec, true)
	w.tells(err, fault.MCPSignInRequired, "requires a sign-in")
	w.tells(oauth.New(o).SignIn(t.Context(), w.spec), fault.MCPSignInRequired, "no user is available")
	require.Zero(t, w.opens)
	require.Empty(t, w.registrations)
}

// SignIn requires no failed request; it asks the server for its challenge.
func TestSignIn(t *testing.T) {
	w := newWorld(t)
	w.needs = []string{"files"}
	w.spec.OAuth = nil // an explicit sign-in needs no setting
	w.spec.Headers = map[string]string{"X-Gate": "1"}
	require.NoError(t, w.service.SignIn(t.Context(), w.spec))
	require.Equal(t, "files", w.authorizations[0].Get("scope"))
	w.ok()
	require.NoError(t, w.service.SignIn(t.Context(), w.spec), "again, anew")
	require.Len(t, w.registrations, 2)
	w.tells(w.service.SignIn(t.Context(), mcp.ServerSpec{Name: "p", Command: "x"}), fault.InvalidConfig, "no http or https address")

	open := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			http.NotFound(rw, r)
		}
	}))
	defer open.Close()
	w.tells(w.service.SignIn(t.Context(), mcp.ServerSpec{Name: "p", URL: open.URL + "/mcp"}), fault.InvalidConfig, "it requires none")
	closed := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			http.NotFound(rw, r)
			return
		}
		rw.WriteHeader(http.StatusUnauthorized) // it requires a key
	}))
	defer closed.Close()
	f := w.tells(w.service.SignIn(t.Context(), mcp.ServerSpec{Name: "p", URL: closed.URL + "/mcp"}), fault.InvalidConfig, "names no authorization server")
	require.Contains(t, f.Remedy, "header")
}

// Without a file nothing is written, and a second Service has no tokens.
func TestInMemory(t *testing.T) {
	w := newWorld(t)
	w.service = w.another("")
	w.ok()
	w.ok()
	require.Equal(t, 1, w.opens)
	require.NoFileExists(t, w.path)
	_, err := w.call(w.another(""), w.spec, false)
	require.Error(t, err)
}

// EX-15: a token is sent only to the server of its name and URL, and renewed only
// by its issuer.
func TestTokensAreBound(t *testing.T) {
	w := newWorld(t)
	w.lifetime = 3600
	w.ok()
	hostile := newWorld(t) // a project uses the user's name for its own server
	for name, spec := range map[string]mcp.ServerSpec{
		"another URL":  {Name: "srv", URL: hostile.rs.URL + "/mcp"},
		"another path": {Name: "srv", URL: w.rs.URL + "/other"},
		"another name": {Name: "other", URL: w.spec.URL},
		"another token endpoint": {Name: "srv", URL: w.spec.URL, OAuth: &mcp.OAuthSpec{
			TokenURL: hostile.as.URL + "/token", AuthorizationURL: hostile.as.URL + "/authorize",
		}},
		"another issuer": {Name: "srv", URL: w.spec.URL, OAuth: &mcp.OAuthSpec{Issuer: hostile.as.URL}},
		"another client": {Name: "srv", URL: w.spec.URL, OAuth: &mcp.OAuthSpec{ClientID: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			source, err := w.service.Handler(spec, false).TokenSource(t.Context())
			require.NoError(t, err)
			token, err := source.Token()
			require.NoError(t, err)
			require.Nil(t, token)
			w.pass(2 * time.Hour) // nor is it refreshed elsewhere
			token, err = source.Token()
			require.NoError(t, err)
			require.Nil(t, token)
			w.pass(-2 * time.Hour)
		})
	}
	_, err := w.call(w.service, mcp.ServerSpec{Name: "srv", URL: hostile.rs.URL + "/mcp"}, false)
	w.tells(err, fault.MCPSignInRequired, "")
	for _, seen := range hostile.requests {
		require.Empty(t, seen)
	}
	require.Empty(t, hostile.tokenForms)
	w.ok()
	require.Equal(t, 1, w.opens)
}

// Different spellings of an address are the same server.
func TestSameAddress(t *testing.T) {
	w := newWorld(t)
	w.ok()
	spec := w.spec
	spec.URL = strings.Replace(spec.URL, "http://", "HTTP://", 1) + "#top"
	source, err := w.service.Auth(false).Handler(spec).TokenSource(t.Context())
	require.NoError(t, err)
	token, err := source.Token()
	require.NoError(t, err)
	require.NotNil(t, token)
}

// All addresses of metadata, and the defaults without metadata.
func TestDiscovery(t *testing.T) {
	tests := map[string]func(w *world){
		"openid":                 func(w *world) { w.metadataAt = "/.well-known/openid-configuration" },
		"below the issuer":       func(w *world) { w.below("/.well-known/oauth-authorization-server/tenant") },
		"openid below":           func(w *world) { w.below("/.well-known/openid-configuration/tenant") },
		"openid behind":          func(w *world) { w.below("/tenant/.well-known/openid-configuration") },
		"issuer with a slash":    func(w *world) { w.metadata = map[string]any{"issuer": w.as.URL + "/"} },
		"resource is the origin": func(w *world) { w.resource = w.rs.URL },
		"no challenge":           func(w *world) { w.challenge = func([]string) string { return `Basic realm="x"` } },
		"a broken challenge":     func(w *world) { w.challenge = func([]string) string { return `Bearer "` } },
		"metadata are elsewhere": func(w *world) {
			w.challenge = func([]string) string { return `Bearer resource_metadata="` + w.rs.URL + `/none"` }
		},
		"endpoints of the settings": func(w *world) {
			w.metadataAt = "/none"
			*w.spec.OAuth = mcp.OAuthSpec{
				Enabled: true, AuthorizationURL: w.as.URL + "/authorize", TokenURL: w.as.URL + "/token", RegistrationURL: w.as.URL + "/register",
			}
		},
		"issuer of the settings": func(w *world) {
			w.servers = []string{"https://first.example", w.as.URL}
			w.spec.OAuth.Issuer = w.as.URL
		},
		"default endpoints": func(w *world) { w.metadataAt = "/none" },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			change(w)
			w.ok()
			require.Equal(t, 1, w.opens)
		})
	}
}

func (w *world) below(at string) {
	w.metadataAt = at
	w.servers = []string{w.as.URL + "/tenant"}
	w.metadata = map[string]any{"issuer": w.as.URL + "/tenant"}
}

// The revision 2025-03-26: the server is its own authorization server.
func TestServerIsItsOwn(t *testing.T) {
	for name, at := range map[string]string{"with metadata": "/.well-known/oauth-authorization-server", "without": "/none", "as an issuer with a path": ""} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.resource, w.metadataAt = "none", at
			both := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/mcp" {
					w.serveRS(rw, r)
					return
				}
				w.serveAS(rw, r)
			}))
			defer both.Close()
			w.as.URL, w.rs.URL = both.URL, both.URL // the address that they report
			w.spec.URL = both.URL + "/mcp"
			if at == "" {
				w.metadata = map[string]any{"issuer": both.URL + "/oauth"}
			}
			w.challenge = func([]string) string { return "Bearer" }
			w.ok()
			require.Equal(t, 1, w.opens)
		})
	}
}

func TestScopes(t *testing.T) {
	tests := map[string]struct {
		change func(w *world)
		want   string
	}{
		"none":               {func(*world) {}, ""},
		"of the challenge":   {func(w *world) { w.needs, w.scopesKnown = []string{"b", "a"}, []string{"c"} }, "b a"},
		"of the resource":    {func(w *world) { w.scopesKnown = []string{"c", "d"} }, "c d"},
		"of the settings":    {func(w *world) { w.spec.OAuth.Scopes, w.scopesKnown = []string{"s"}, []string{"c"} }, "s"},
		"settings and more":  {func(w *world) { w.spec.OAuth.Scopes, w.needs = []string{"s"}, []string{"n"} }, "s n"},
		"for refresh tokens": {func(w *world) { w.needs = []string{"a"}; w.metadata = offline }, "a offline_access"},
		"none for them":      {func(w *world) { w.metadata = offline }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tt.change(w)
			w.ok()
			require.Equal(t, tt.want, w.authorizations[0].Get("scope"))
			require.Equal(t, tt.want != "", w.authorizations[0].Has("scope"))
		})
	}
}

var offline = map[string]any{"scopes_supported": []string{"offline_access", "a"}}

// A request that requires more scopes opens the page once and keeps the granted
// scopes.
func TestStepUp(t *testing.T) {
	w := newWorld(t)
	w.needs = []string{"read"}
	w.ok()
	w.with(func() { w.needs = []string{"write"} })
	w.ok()
	require.Equal(t, 2, w.opens)
	require.Equal(t, "read write", w.authorizations[1].Get("scope"))
	require.Len(t, w.registrations, 2, "the first client was registered for less")
	require.Equal(t, "read write", w.registrations[1]["scope"])
	w.with(func() { w.needs = []string{"read", "write"} })
	w.ok()
	require.Equal(t, 2, w.opens)

	w.with(func() { w.needs = []string{"admin"} })
	_, err := w.call(w.service, w.spec, false)
	w.tells(err, fault.MCPSignInRequired, "more permissions")
	require.Equal(t, 2, w.opens)
}

// A server that always requires more scopes does not flood the user with pages.
func TestStepUpLimit(t *testing.T) {
	w := newWorld(t)
	w.needs = []string{"read"}
	w.ok()
	w.with(func() {
		for token := range w.granted {
			w.granted[token] = []string{"nothing"}
		}
	})
	w.fails(fault.MCPSignInRequired, "names no further scope")
	require.Equal(t, 1, w.opens)

	for _, more := range []string{"a", "b"} {
		w.with(func() { w.needs = []string{more} })
		w.ok()
	}
	require.Equal(t, 3, w.opens)
	w.with(func() { w.needs = []string{"c"} })
	w.fails(fault.MCPSignInRequired, "after 3 in the last 10 minutes")
	require.Equal(t, 3, w.opens)
	w.pass(10 * time.Minute)
	w.ok()
	require.Equal(t, 4, w.opens)

	w.with(func() { w.challenge = func([]string) string { return "Bearer" }; w.needs = []string{"z"} })
	w.with(func() { w.challenge = func([]string) string { return `Bearer realm="a"` } })
	w.fails(fault.MCPSignInRequired, "names no further scope")
}

// A 403 for any other reason starts no sign-in.
func TestForbidden(t *testing.T) {
	w := newWorld(t)
	forbidding := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) }))
	defer forbidding.Close()
	w.spec.URL = forbidding.URL
	w.fails(fault.PermissionDenied, "403")
	require.Zero(t, w.opens)
}

// Many calls that are refused together cause one sign-in, and one failure.
func TestOneSignInForMany(t *testing.T) {
	for name, declined := range map[string]bool{"done": false, "declined": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			release := make(chan struct{})
			o := w.options(w.path)
			o.OpenURL = func(ctx context.Context, address string) error {
				<-release
				if declined {
					u, _ := url.Parse(address)
					address = u.Query().Get("redirect_uri") + "?error=access_denied&state=" + u.Query().Get("state")
				}
				return w.open(ctx, address)
			}
			w.service = oauth.New(o)
			const n = 50
			w.refused = make(chan struct{}, 2*n)
			results := make(chan error, n)
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					_, err := w.call(w.service, w.spec, true)
					results <- err
				})
			}
			for range n { // all have been refused
				<-w.refused
			}
			close(release)
			all.Wait()
			close(results)
			for err := range results {
				if declined {
					w.tells(err, fault.MCPSignInRequired, "declined")
				} else {
					require.NoError(t, err)
				}
			}
			require.Equal(t, 1, w.opens)
		})
	}
}

// The authorization server changes: client and tokens of the old one are not sent
// to the new one.
func TestIssuerChanges(t *testing.T) {
	w := newWorld(t)
	w.metadata = map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_post"}}
	w.ok()
	next := newWorld(t)
	next.metadata = w.metadata
	w.with(func() {
		w.servers = []string{next.as.URL}
		clear(w.granted)
		w.takes = func(token string) bool {
			next.mu.Lock()
			defer next.mu.Unlock()
			_, ok := next.granted[token]
			return ok
		}
	})
	_, err := w.call(w.service, w.spec, true)
	require.NoError(t, err)
	require.Len(t, next.registrations, 1)
	require.Len(t, w.tokenForms, 1, "nothing was refreshed at the old one")
	for _, form := range next.tokenForms {
		require.Equal(t, "authorization_code", form.Get("grant_type"))
		require.NotContains(t, w.clients, form.Get("client_secret"))
	}
	signed, err := w.service.Tokens(t.Context())
	require.NoError(t, err)
	require.Len(t, signed, 1)
	require.Equal(t, next.as.URL, signed[0].Issuer)
}

// Only the owner can read the secrets of the file.
func TestModes(t *testing.T) {
	w := newWorld(t)
	w.ok()
	info, err := os.Stat(w.path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(w.path)
	require.NoError(t, err)
	require.Contains(t, string(text), canary, "which the test is about")
	var all map[string]any
	require.NoError(t, json.Unmarshal(text, &all))
	require.Equal(t, []string{"mcpServers"}, slices.Collect(mapKeys(all)))
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

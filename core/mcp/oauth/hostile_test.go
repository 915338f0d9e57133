package oauth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/oauth"
)

// EX-15: a party that lies, stalls or redirects receives no code, token or
// secret, and the error names the problem without repeating any.
func TestHostile(t *testing.T) {
	flood := func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"x":"`)
		for range 40 {
			if _, err := io.WriteString(rw, strings.Repeat("x", 64<<10)); err != nil {
				return
			}
		}
		_, _ = io.WriteString(rw, `"}`)
	}
	answer := func(status int, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(status)
			_, _ = io.WriteString(rw, body)
		}
	}
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice the cancellation
		<-r.Context().Done()
	}
	echo := func(status int) http.HandlerFunc { // repeats everything that was sent
		return func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			text := fmt.Sprintf("%s %s %s %s", canary, r.PostForm.Encode(), r.Header.Get("Authorization"), body)
			writeJSON(rw, status, map[string]any{"error": text, "error_description": text, "error_uri": text})
		}
	}
	tests := map[string]struct {
		change func(w *world)
		code   fault.Code
		part   string
	}{
		"wrong iss": {func(w *world) {
			w.iss = func() string { return "https://evil.example" }
		}, fault.MCPSignInRequired, "from another authorization server"},
		"iss with a slash": {func(w *world) {
			w.iss = func() string { return w.as.URL + "/" }
		}, fault.MCPSignInRequired, "from another authorization server"},
		"promised iss is missing": {func(w *world) {
			w.metadata = map[string]any{"authorization_response_iss_parameter_supported": true}
		}, fault.MCPSignInRequired, "does not name its authorization server"},
		"another resource": {func(w *world) { w.resource = "https://evil.example/mcp" }, fault.MCPSignInRequired, "declares itself as another resource, at https://evil.example"},
		"a sibling":        {func(w *world) { w.resource = w.rs.URL + "/mc" }, fault.MCPSignInRequired, "declares itself as another resource"},
		"no resource": {func(w *world) {
			w.prmAnswer = answer(200, `{"authorization_servers":["`+w.as.URL+`"]}`)
		}, fault.MCPSignInRequired, "declares itself as another resource"},
		"no authorization server": {func(w *world) { w.servers = []string{} }, fault.MCPSignInRequired, "names no authorization server"},
		"an issuer without https": {func(w *world) { w.servers = []string{"http://evil.example"} }, fault.MCPSignInRequired, "not use https"},
		"an issuer with a user":   {func(w *world) { w.servers = []string{"https://a:b@evil.example"} }, fault.MCPSignInRequired, "an invalid address"},
		"metadata without https": {func(w *world) {
			w.challenge = func([]string) string { return `Bearer resource_metadata="http://evil.example/x"` }
		}, fault.MCPSignInRequired, "not use https"},
		"another issuer": {func(w *world) { w.metadata = map[string]any{"issuer": "https://evil.example"} }, fault.MCPSignInRequired, "declares a different issuer, https://evil.example"},
		"another issuer of the same origin": {func(w *world) {
			w.metadata = map[string]any{"issuer": w.as.URL + "/other"}
		}, fault.MCPSignInRequired, "declares a different issuer"},
		"no issuer": {func(w *world) { w.metadata = map[string]any{"issuer": nil} }, fault.MCPSignInRequired, "declares a different issuer"},
		"settings name another issuer": {func(w *world) {
			w.spec.OAuth.Issuer = "https://mine.example"
		}, fault.MCPSignInRequired, "the settings name https://mine.example"},
		"no PKCE":           {func(w *world) { w.metadata = map[string]any{"code_challenge_methods_supported": nil} }, fault.MCPSignInRequired, "PKCE"},
		"plain PKCE":        {func(w *world) { w.metadata = map[string]any{"code_challenge_methods_supported": []string{"plain"}} }, fault.MCPSignInRequired, "PKCE"},
		"no token endpoint": {func(w *world) { w.metadata = map[string]any{"token_endpoint": nil} }, fault.MCPSignInRequired, "names no token endpoint"},
		"no page":           {func(w *world) { w.metadata = map[string]any{"authorization_endpoint": nil} }, fault.MCPSignInRequired, "no sign-in page"},
		"a script as page": {func(w *world) {
			w.metadata = map[string]any{"authorization_endpoint": "javascript:alert(1)"}
		}, fault.MCPSignInRequired, "an invalid address"},
		"a file as page": {func(w *world) {
			w.metadata = map[string]any{"authorization_endpoint": "file://localhost/etc/passwd"}
		}, fault.MCPSignInRequired, "not use https"},
		"tokens without https": {func(w *world) {
			w.metadata = map[string]any{"token_endpoint": "http://evil.example/token"}
		}, fault.MCPSignInRequired, "not use https"},
		"metadata of another type": {func(w *world) { w.metadata = map[string]any{"token_endpoint": 1} }, fault.MCPSignInRequired, "an invalid response"},
		"huge metadata":            {func(w *world) { w.metaAnswer = flood }, fault.MCPSignInRequired, "larger than"},
		"huge resource metadata":   {func(w *world) { w.prmAnswer = flood }, fault.MCPSignInRequired, "larger than"},
		"broken metadata":          {func(w *world) { w.metaAnswer = answer(500, "x"+canary) }, fault.MCPServerUnavailable, "HTTP status 500"},
		"broken resource metadata": {func(w *world) { w.prmAnswer = answer(503, canary) }, fault.MCPServerUnavailable, "HTTP status 503"},
		"metadata hang":            {func(w *world) { w.slowAfter = "/.well-known/oauth-protected-resource/mcp"; w.metaAnswer = hang }, fault.MCPServerUnavailable, "does not respond in time"},
		"resource metadata hang":   {func(w *world) { w.slowAfter = "/mcp"; w.prmAnswer = hang }, fault.MCPServerUnavailable, "does not respond in time"},
		"registration hangs":       {func(w *world) { w.slowAfter = "/.well-known/oauth-authorization-server"; w.regAnswer = hang }, fault.MCPServerUnavailable, "does not respond in time"},
		"tokens hang":              {func(w *world) { w.slowAfter = "/register"; w.tokenAnswer = hang }, fault.MCPServerUnavailable, "does not respond in time"},
		"registration fails":       {func(w *world) { w.regAnswer = answer(500, canary) }, fault.MCPSignInRequired, "does not let fettle register"},
		"registration is declined": {func(w *world) { w.regAnswer = echo(400) }, fault.InvalidConfig, "does not let fettle register"},
		"registration with a standard error": {func(w *world) {
			w.regAnswer = answer(400, `{"error":"invalid_redirect_uri","error_description":"`+canary+`"}`)
		}, fault.InvalidConfig, "(invalid_redirect_uri)"},
		"registration of nobody": {func(w *world) { w.regAnswer = answer(201, `{"x":"`+canary+`"}`) }, fault.MCPSignInRequired, "does not let fettle register"},
		"registration is junk":   {func(w *world) { w.regAnswer = answer(201, canary) }, fault.MCPSignInRequired, "does not let fettle register"},
		"tokens are declined":    {func(w *world) { w.tokenAnswer = echo(400) }, fault.MCPSignInRequired, "issues no token."},
		"tokens with a standard error": {func(w *world) {
			w.tokenAnswer = answer(400, `{"error":"invalid_target","error_description":"`+canary+`"}`)
		}, fault.MCPSignInRequired, "issues no token (invalid_target)"},
		"tokens declined with success": {func(w *world) { w.tokenAnswer = echo(200) }, fault.MCPSignInRequired, "issues no token"},
		"tokens fail":                  {func(w *world) { w.tokenAnswer = echo(502) }, fault.MCPServerUnavailable, "HTTP status 502"},
		"tokens are junk":              {func(w *world) { w.tokenAnswer = answer(200, canary) }, fault.MCPSignInRequired, "an invalid response"},
		"no tokens":                    {func(w *world) { w.tokenAnswer = answer(200, `{"token_type":"Bearer","x":"`+canary+`"}`) }, fault.MCPSignInRequired, "an invalid response"},
		"tokens of another kind": {func(w *world) {
			w.tokenAnswer = answer(200, `{"access_token":"`+canary+`","token_type":"DPoP"}`)
		}, fault.MCPSignInRequired, "of an unknown type"},
		"tokens with line breaks": {func(w *world) {
			w.tokenAnswer = answer(200, `{"access_token":"`+canary+`\r\nX: y","token_type":"Bearer"}`)
		}, fault.MCPSignInRequired, "cannot be sent"},
		"refresh tokens with line breaks": {func(w *world) {
			w.tokenAnswer = answer(200, `{"access_token":"x","refresh_token":"`+canary+`\n"}`)
		}, fault.MCPSignInRequired, "cannot be sent"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tt.change(w)
			w.fails(tt.code, tt.part)
			signed, err := w.service.Tokens(t.Context())
			require.NoError(t, err)
			require.Empty(t, signed, "nothing is kept")
			for _, sent := range w.requests {
				require.Empty(t, sent)
			}
			text, err := os.ReadFile(w.path)
			require.True(t, err != nil || !strings.Contains(string(text), canary))
		})
	}
}

// Text of the authorization server in a response with the right state is repeated
// only if it is a standard error code.
func TestDeclined(t *testing.T) {
	for problem, part := range map[string]string{
		"access_denied": "it was declined.", "server_error": "declines (server_error).", canary: "declines.", "": "has no code.",
	} {
		t.Run(part, func(t *testing.T) {
			w := newWorld(t)
			o := w.options(w.path)
			o.OpenURL = func(ctx context.Context, address string) error {
				u, _ := url.Parse(address)
				back := url.Values{"state": {u.Query().Get("state")}, "error_description": {canary}}
				if problem != "" {
					back.Set("error", problem)
				}
				return w.open(ctx, u.Query().Get("redirect_uri")+"?"+back.Encode())
			}
			w.service = oauth.New(o)
			w.fails(fault.MCPSignInRequired, part)
			w.fails(fault.MCPSignInRequired, part)
			require.Equal(t, 1, w.opens, "who has declined is not asked again at once")
			require.Empty(t, w.tokenForms)
		})
	}
}

// A response with another state is ignored, and the right one awaited.
func TestWrongState(t *testing.T) {
	w := newWorld(t)
	o := w.options(w.path)
	var wrong []string // codes
	o.OpenURL = func(ctx context.Context, address string) error {
		w.with(func() { w.state = func(string) string { return "another" } })
		if err := w.open(ctx, address); err != nil {
			return err
		}
		w.with(func() {
			w.state = nil
			wrong = slices.Collect(maps.Keys(w.codes))
		})
		return w.open(ctx, address)
	}
	w.service = oauth.New(o)
	w.ok()
	require.Len(t, wrong, 1)
	require.Len(t, w.tokenForms, 1)
	require.NotEqual(t, wrong[0], w.tokenForms[0].Get("code"))
}

// A redirect carries no code, verifier or secret elsewhere, and metadata from its
// target are not used.
func TestRedirectsElsewhere(t *testing.T) {
	var seen []string
	evil := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+" "+string(body))
	}))
	defer evil.Close()
	to := func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, evil.URL+"/"+canary+"?"+r.PostForm.Encode(), http.StatusTemporaryRedirect)
	}
	tests := map[string]struct {
		change func(w *world)
		part   string
	}{
		"tokens":       {func(w *world) { w.tokenAnswer = to }, "redirects to another address"},
		"registration": {func(w *world) { w.regAnswer = to }, "does not let fettle register"},
		"tokens within the origin": {func(w *world) {
			w.tokenAnswer = func(rw http.ResponseWriter, r *http.Request) {
				http.Redirect(rw, r, "/elsewhere", http.StatusPermanentRedirect)
			}
		}, "redirects to another address"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tt.change(w)
			w.fails(fault.MCPSignInRequired, tt.part)
			require.Empty(t, seen)
			require.Zero(t, count(w, "as /elsewhere"))
		})
	}
	t.Run("metadata", func(t *testing.T) { // as if there were none
		w := newWorld(t)
		w.metaAnswer, w.prmAnswer = to, to
		_, err := w.call(w.service, w.spec, true)
		require.Error(t, err)
		require.Empty(t, seen)
	})
	t.Run("metadata within the origin", func(t *testing.T) {
		w := newWorld(t)
		w.metaAnswer = func(rw http.ResponseWriter, r *http.Request) {
			w.metaAnswer, w.metadataAt = nil, "/moved"
			http.Redirect(rw, r, "/moved", http.StatusFound)
		}
		w.ok()
	})
	t.Run("the server", func(t *testing.T) {
		w := newWorld(t)
		spec := mcp.ServerSpec{Name: "srv", URL: evil.URL, Headers: map[string]string{"X-Key": canary}}
		away := httptest.NewServer(http.HandlerFunc(to))
		defer away.Close()
		spec.URL = away.URL
		err := w.service.SignIn(t.Context(), spec)
		require.Error(t, err)
		require.NotContains(t, err.Error(), canary)
		require.Empty(t, seen)
	})
}

// The page cannot be opened: the reason is reported, the address is not.
func TestOpenFails(t *testing.T) {
	for part, text := range map[string]func(address string) string{
		"could not be opened: no browser.": func(string) string { return "no browser" },
		"could not be opened.":             func(address string) string { return "exec: xdg-open " + address },
	} {
		w := newWorld(t)
		o := w.options(w.path)
		var shown string
		o.OpenURL = func(_ context.Context, address string) error {
			shown = address
			return errors.New(text(address))
		}
		w.service = oauth.New(o)
		f := w.fails(fault.MCPSignInRequired, part)
		u, err := url.Parse(shown)
		require.NoError(t, err)
		require.NotContains(t, f.Error(), u.Query().Get("state"))
		require.NotContains(t, f.Error(), u.Query().Get("code_challenge"))
	}
}

func TestUnreachable(t *testing.T) {
	w := newWorld(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	w.servers = []string{gone.URL}
	w.fails(fault.MCPServerUnavailable, "refuses connections")
	w.tells(w.service.SignIn(t.Context(), mcp.ServerSpec{Name: "srv", URL: gone.URL}), fault.MCPServerUnavailable, "refuses connections")
}

// Addresses to which a secret may be sent, and resources that a server may
// declare.
func TestAddresses(t *testing.T) {
	const there, here = "https://mcp.example/mcp", "http://127.0.0.1:1/mcp"
	for address, from := range map[string]string{
		"https://as.example": there, "https://10.0.0.5/x": there, "http://127.0.0.1:9/x": here, "http://localhost/x": here, "http://[::1]/x": here, "https://as.example/": here,
	} {
		require.Empty(t, oauth.Trustworthy(address, from), address)
	}
	for address, from := range map[string]string{
		"http://as.example": there, "http://127.0.0.1:9": there, "https://localhost/x": there, "https://[::1]/x": there, "ftp://as.example": there,
		"https://u:p@as.example": there, "/relative": there, "": there, "https:opaque": there, "http://10.0.0.5": here, "data:text/html,x": here, "https://[": here,
		"http://127.0.0.1.evil.example": here, "http://localhost.evil.example": here,
	} {
		require.NotEmpty(t, oauth.Trustworthy(address, from), address)
	}
	for declared, want := range map[string]bool{
		there: true, there + "/": true, "https://mcp.example": true, "https://MCP.example:443/": true, "HTTPS://mcp.example/mcp": true,
		"https://mcp.example/mc": false, "https://mcp.example/mcp/x": false, "https://mcp.example:8443/mcp": false, "http://mcp.example/mcp": false,
		"https://evil.example/mcp": false, "": false, "/mcp": false, "https://mcp.example.evil.example/mcp": false,
	} {
		require.Equal(t, want, oauth.CoversResource(declared, there), declared)
	}
	spec := mcp.ServerSpec{Name: "srv", URL: "http://mcp.example/mcp?key=" + canary, OAuth: &mcp.OAuthSpec{ClientSecret: canary}}
	w := newWorld(t)
	resp := &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, spec.URL, nil)
	require.NoError(t, err)
	spec.OAuth.Enabled = true
	w.tells(w.service.Handler(spec, true).Authorize(t.Context(), r, resp), fault.InvalidConfig, "unencrypted")
}

// No value that contains a secret prints it.
func TestSecretsDoNotPrint(t *testing.T) {
	s := oauth.Secret(canary)
	e := oauth.Entry{Server: "srv", AccessToken: canary, RefreshToken: canary, ClientSecret: canary}
	for _, v := range []any{s, &s, e, &e, []oauth.Entry{e}, map[string]any{"x": e}, struct{ E oauth.Entry }{e}} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			require.NotContains(t, fmt.Sprintf(format, v), canary, "%s of %T", format, v)
		}
		var text, object bytes.Buffer
		slog.New(slog.NewTextHandler(&text, nil)).Info("x", "v", v)
		require.NotContains(t, text.String(), canary, "text log of %T", v)
		switch v.(type) {
		case oauth.Secret, oauth.Entry:
			slog.New(slog.NewJSONHandler(&object, nil)).Info("x", "v", v)
			require.NotContains(t, object.String(), canary, "JSON log of %T", v)
		}
	}
}

// FuzzChallenge: no header causes a failure, and parsed values occur in it.
func FuzzChallenge(f *testing.F) {
	for _, seed := range []string{
		`Bearer resource_metadata="https://x/y", scope="a b", error="insufficient_scope"`, `Basic realm="x", Bearer scope=a`, `Bearer "`, `bearer scope="`, ``, `,,,`, "Bearer a=b,c", `Bearer scope="\"x"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		h := http.Header{"Www-Authenticate": {header}}
		metadata, scopes, problem := oauth.DemandOf(h).Said()
		bare := strings.ReplaceAll(header, `\`, "") // without the escapes of quoted text
		for _, said := range append(scopes, metadata, problem) {
			require.True(t, strings.Contains(bare, strings.ReplaceAll(said, `\`, "")), "%q is not in %q", said, header)
		}
		for _, scope := range scopes {
			require.Equal(t, []string{scope}, strings.Fields(scope))
		}
	})
}

// FuzzAddress: an address to which a secret may be sent is https or local,
// however it is written.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"https://as.example/x", "http://127.0.0.1:9", "http://[::1%25eth0]/", "http://localhost@evil.example", "http://127.1", "https://a\\b", "http:///x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if oauth.Trustworthy(address, "http://localhost/mcp") != "" {
			return
		}
		u, err := url.Parse(address)
		if err != nil {
			t.Fatalf("%q is trusted and is no address", address)
		}
		host := strings.ToLower(u.Hostname())
		local := host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "::1" || strings.HasPrefix(host, "127.") || strings.Contains(host, "::ffff:") || strings.Contains(host, "::1")
		if u.Scheme != "https" && !local {
			t.Fatalf("%q is trusted", address)
		}
		if oauth.Trustworthy(address, "https://mcp.example/mcp") == "" && u.Scheme != "https" {
			t.Fatalf("%q is trusted from elsewhere", address)
		}
	})
}

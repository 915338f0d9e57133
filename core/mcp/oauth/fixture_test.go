package oauth_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
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

// canary marks all secrets in the tests: it may appear only in requests and in
// the token file.
const canary = "CANARY"

// world is an MCP server, its authorization server, and a Service.
type world struct {
	t       *testing.T
	as, rs  *httptest.Server
	service *oauth.Service
	spec    mcp.ServerSpec
	path    string
	log     *bytes.Buffer

	mu  sync.Mutex
	now time.Time

	// Configuration of the authorization server.
	metadata    map[string]any // members to set; nil removes one
	metadataAt  string         // "": the OAuth well-known path
	iss         func() string  // of the response; nil: none
	state       func(string) string
	redirect    func(url.Values) string // the response's address; nil: the redirect URI
	lifetime    int                     // seconds; 0: not reported
	noRotation  bool
	tokenAnswer http.HandlerFunc // replaces the token endpoint
	regAnswer   http.HandlerFunc
	metaAnswer  http.HandlerFunc
	slowAfter   string // after the answer to this path, the timeout of requests becomes short

	// Configuration of the MCP server.
	resource    string // that it declares; "": its own; "none": it declares nothing
	servers     []string
	challenge   func(scopes []string) string // nil: with resource_metadata and scopes
	needs       []string                     // scopes
	scopesKnown []string
	prmAnswer   http.HandlerFunc
	takes       func(token string) bool // tokens from elsewhere; nil: none
	refused     chan struct{}           // receives a value for each refused request; may be nil

	// Recorded requests.
	authorizations []url.Values
	tokenForms     []url.Values
	tokenHeaders   []string
	registrations  []map[string]any
	granted        map[string][]string // token → scopes
	refresh        map[string][]string // refresh token → scopes
	codes          map[string]url.Values
	clients        map[string]string // id → secret
	n              int
	requests       []string // at the MCP server, the token sent
	paths          []string // at both
	opens          int
}

func (w *world) handleMeta(rw http.ResponseWriter, r *http.Request) {
	if w.metaAnswer != nil {
		w.metaAnswer(rw, r)
		return
	}
	meta := map[string]any{
		"issuer":                                w.as.URL,
		"authorization_endpoint":                w.as.URL + "/authorize",
		"token_endpoint":                        w.as.URL + "/token",
		"registration_endpoint":                 w.as.URL + "/register",
		"code_challenge_methods_supported":      []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic", "client_secret_post"},
		"response_types_supported":              []string{"code"},
	}
	for name, value := range w.metadata {
		if meta[name] = value; value == nil {
			delete(meta, name)
		}
	}
	writeJSON(rw, http.StatusOK, meta)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (w *world) secret(kind string) string {
	w.n++
	return fmt.Sprintf("%s-%s-%d", canary, kind, w.n)
}

// seen records a request. A request that is in progress keeps its timeout.
func (w *world) seen(at string, r *http.Request) {
	w.paths = append(w.paths, at+" "+r.URL.Path)
	if r.URL.Path == w.slowAfter {
		oauth.SetRequestLimit(w.service, 100*time.Millisecond)
	}
}

func (w *world) serveAS(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen("as", r)
	at := w.metadataAt
	if at == "" {
		at = "/.well-known/oauth-authorization-server"
	}
	switch r.URL.Path {
	case at:
		w.handleMeta(rw, r)
	case "/register":
		if w.regAnswer != nil {
			w.regAnswer(rw, r)
			return
		}
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.registrations = append(w.registrations, body)
		id, secret := fmt.Sprintf("client-%d", len(w.registrations)), ""
		answer := map[string]any{"client_id": id, "token_endpoint_auth_method": body["token_endpoint_auth_method"], "redirect_uris": body["redirect_uris"]}
		if body["token_endpoint_auth_method"] != "none" {
			secret = w.secret("client-secret")
			answer["client_secret"] = secret
		}
		w.clients[id] = secret
		writeJSON(rw, http.StatusCreated, answer)
	case "/authorize":
		w.authorize(rw, r)
	case "/token":
		_ = r.ParseForm()
		w.tokenForms = append(w.tokenForms, r.PostForm)
		w.tokenHeaders = append(w.tokenHeaders, r.Header.Get("Authorization"))
		if w.tokenAnswer != nil {
			w.tokenAnswer(rw, r)
			return
		}
		w.token(rw, r)
	default:
		http.NotFound(rw, r)
	}
}

func (w *world) authorize(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.authorizations = append(w.authorizations, q)
	code := w.secret("code")
	w.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	if w.state != nil {
		back.Set("state", w.state(q.Get("state")))
	}
	if w.iss != nil {
		back.Set("iss", w.iss())
	}
	to := q.Get("redirect_uri")
	if w.redirect != nil {
		to = w.redirect(back)
	}
	http.Redirect(rw, r, to+"?"+back.Encode(), http.StatusFound)
}

func (w *world) token(rw http.ResponseWriter, r *http.Request) {
	id, secret := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	if user, pass, ok := r.BasicAuth(); ok {
		id, _ = url.QueryUnescape(user)
		secret, _ = url.QueryUnescape(pass)
	}
	want, known := w.clients[id]
	if !known || want != secret {
		writeJSON(rw, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": "you sent " + secret})
		return
	}
	var scopes []string
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		q, ok := w.codes[r.PostForm.Get("code")]
		delete(w.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") || q.Get("code_challenge_method") != "S256" ||
			q.Get("redirect_uri") != r.PostForm.Get("redirect_uri") || q.Get("client_id") != id || q.Get("resource") != r.PostForm.Get("resource") {
			writeJSON(rw, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
			return
		}
		scopes = strings.Fields(q.Get("scope"))
	case "refresh_token":
		old := r.PostForm.Get("refresh_token")
		var ok bool
		if scopes, ok = w.refresh[old]; !ok {
			writeJSON(rw, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "unknown " + old})
			return
		}
		if !w.noRotation {
			delete(w.refresh, old)
		}
	case "client_credentials":
		scopes = strings.Fields(r.PostForm.Get("scope"))
	default:
		writeJSON(rw, http.StatusBadRequest, map[string]any{"error": "unsupported_grant_type"})
		return
	}
	access := w.secret("access")
	w.granted[access] = scopes
	answer := map[string]any{"access_token": access, "token_type": "Bearer"}
	if w.lifetime > 0 {
		answer["expires_in"] = w.lifetime
	}
	if g := r.PostForm.Get("grant_type"); g == "authorization_code" || g == "refresh_token" && !w.noRotation {
		refresh := w.secret("refresh")
		w.refresh[refresh] = scopes
		answer["refresh_token"] = refresh
	}
	writeJSON(rw, http.StatusOK, answer)
}

func (w *world) serveRS(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen("rs", r)
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		if w.prmAnswer != nil {
			w.prmAnswer(rw, r)
			return
		}
		if w.resource == "none" {
			http.NotFound(rw, r)
			return
		}
		resource, servers := w.resource, w.servers
		if resource == "" {
			resource = w.rs.URL + "/mcp"
		}
		if servers == nil {
			servers = []string{w.as.URL}
		}
		writeJSON(rw, http.StatusOK, map[string]any{"resource": resource, "authorization_servers": servers, "scopes_supported": w.scopesKnown})
	case "/mcp":
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		w.requests = append(w.requests, token)
		scopes, ok := w.granted[token]
		ok = ok || w.takes != nil && w.takes(token)
		challenge := fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, w.rs.URL)
		if len(w.needs) > 0 {
			challenge += fmt.Sprintf(`, scope="%s"`, strings.Join(w.needs, " "))
		}
		if w.challenge != nil {
			challenge = w.challenge(scopes)
		}
		if !ok {
			rw.Header().Set("WWW-Authenticate", challenge)
			rw.WriteHeader(http.StatusUnauthorized)
			if w.refused != nil {
				w.refused <- struct{}{}
			}
			return
		}
		for _, need := range w.needs {
			if !slices.Contains(scopes, need) {
				rw.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope"`)
				rw.WriteHeader(http.StatusForbidden)
				return
			}
		}
		_, _ = io.WriteString(rw, "ok")
	default:
		http.NotFound(rw, r)
	}
}

// with changes the servers' configuration while they serve no request.
func (w *world) with(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, granted: map[string][]string{}, refresh: map[string][]string{}, codes: map[string]url.Values{}, clients: map[string]string{},
		log: new(bytes.Buffer), now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), path: filepath.Join(t.TempDir(), "home", "auth-cache.json"),
	}
	w.as = httptest.NewServer(http.HandlerFunc(w.serveAS))
	t.Cleanup(w.as.Close)
	w.rs = httptest.NewServer(http.HandlerFunc(w.serveRS))
	t.Cleanup(w.rs.Close)
	w.spec = mcp.ServerSpec{Name: "srv", URL: w.rs.URL + "/mcp", OAuth: &mcp.OAuthSpec{Enabled: true}}
	w.service = w.another(w.path)
	t.Cleanup(func() { require.NotContains(t, w.log.String(), canary, "a secret was logged") })
	return w
}

// options returns the options of the world's Service.
func (w *world) options(path string) oauth.Options {
	return oauth.Options{
		StorePath: path, OpenURL: w.open, Now: w.clock, Logger: slog.New(slog.NewTextHandler(&lockedWriter{w: w.log}, nil)),
	}
}

// another returns a Service as in a second process.
func (w *world) another(path string) *oauth.Service { return oauth.New(w.options(path)) }

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) { w.with(func() { w.now = w.now.Add(d) }) }

// open is the user's browser: it follows redirects.
func (w *world) open(ctx context.Context, address string) error {
	w.with(func() { w.opens++ })
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil //nolint:nilerr // the browser shows it
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return nil
}

// call makes a request as the SDK's transport does: it repeats the request after
// Authorize.
func (w *world) call(s *oauth.Service, spec mcp.ServerSpec, interactive bool) (int, error) {
	return w.callCtx(w.t.Context(), s, spec, interactive)
}

func (w *world) callCtx(ctx context.Context, s *oauth.Service, spec mcp.ServerSpec, interactive bool) (int, error) {
	h := s.Handler(spec, interactive)
	send := func() (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, spec.URL, strings.NewReader("{}"))
		if err != nil {
			return nil, err
		}
		source, err := h.TokenSource(ctx)
		if err != nil {
			return nil, err
		}
		token, err := source.Token()
		if err != nil {
			return nil, err
		}
		if token != nil {
			r.Header.Set("Authorization", "Bearer "+token.AccessToken)
		}
		return http.DefaultClient.Do(r)
	}
	resp, err := send()
	if err != nil {
		return 0, err
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		if err := h.Authorize(ctx, resp.Request, resp); err != nil {
			return resp.StatusCode, err
		}
		if resp, err = send(); err != nil {
			return 0, err
		}
	}
	_ = resp.Body.Close()
	return resp.StatusCode, nil
}

// ok asserts that a call of the MCP server succeeds.
func (w *world) ok() {
	w.t.Helper()
	status, err := w.call(w.service, w.spec, true)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, status)
}

// fails asserts that a call fails with a code, and that the error contains no
// secret.
func (w *world) fails(code fault.Code, part string) *fault.Error {
	w.t.Helper()
	_, err := w.call(w.service, w.spec, true)
	return w.tells(err, code, part)
}

func (w *world) tells(err error, code fault.Code, part string) *fault.Error {
	w.t.Helper()
	require.Error(w.t, err)
	f := fault.As(err)
	require.NotNil(w.t, f, "%v", err)
	require.Equal(w.t, code, f.Code, "%v", err)
	require.Contains(w.t, f.Message, part)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), f.Line()} {
		require.NotContains(w.t, text, canary)
		for _, q := range w.authorizations {
			require.NotContains(w.t, text, q.Get("state"))
		}
	}
	for _, form := range w.tokenForms {
		if v := form.Get("code_verifier"); v != "" {
			require.NotContains(w.t, err.Error(), v)
		}
	}
	return f
}

func count(w *world, path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, p := range w.paths {
		if p == path {
			n++
		}
	}
	return n
}

package oauth_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp/oauth"
)

func (w *world) refreshes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, form := range w.tokenForms {
		if form.Get("grant_type") == "refresh_token" {
			n++
		}
	}
	return n
}

// EX-15: a token is refreshed before it expires, with rotation, and for the same
// resource.
func TestRefresh(t *testing.T) {
	w := newWorld(t)
	w.lifetime, w.needs = 3600, []string{"files"}
	w.ok()
	w.pass(58 * time.Minute)
	w.ok()
	require.Zero(t, w.refreshes(), "there are two minutes left")
	w.pass(90 * time.Second)
	w.ok()
	require.Equal(t, 1, w.refreshes())
	require.Equal(t, w.rs.URL+"/mcp", w.tokenForms[1].Get("resource"))
	w.pass(5 * time.Hour)
	status, err := w.call(w.service, w.spec, false) // without the user
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 2, w.refreshes())
	require.NotEqual(t, w.tokenForms[1].Get("refresh_token"), w.tokenForms[2].Get("refresh_token"), "it rotates")
	require.Equal(t, 1, w.opens)
}

// A refresh answer without a refresh token keeps the old one.
func TestRefreshWithoutRotation(t *testing.T) {
	w := newWorld(t)
	w.lifetime, w.noRotation = 3600, true
	w.ok()
	for range 3 {
		w.pass(2 * time.Hour)
		w.ok()
	}
	require.Equal(t, 3, w.refreshes())
	require.Equal(t, w.tokenForms[1].Get("refresh_token"), w.tokenForms[3].Get("refresh_token"))
	require.Equal(t, 1, w.opens)
}

// A token with a lifetime of ten seconds is not refreshed at each request.
func TestShortLife(t *testing.T) {
	w := newWorld(t)
	w.lifetime = 40
	w.ok()
	w.pass(29 * time.Second)
	w.ok()
	require.Zero(t, w.refreshes())
	w.pass(2 * time.Second)
	w.ok()
	require.Equal(t, 1, w.refreshes())
}

// A token that the server refuses is refreshed once, whatever its stated
// lifetime.
func TestRefreshOnRefusal(t *testing.T) {
	w := newWorld(t)
	w.ok()
	w.with(func() { clear(w.granted) })
	status, err := w.call(w.service, w.spec, false)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 1, w.refreshes())
	require.Equal(t, 1, w.opens)
}

// Many calls of several processes at the moment of expiry cause one refresh. A
// second one would use a refresh token that is spent.
func TestOneRefreshForMany(t *testing.T) {
	for _, path := range []string{"file", "memory"} {
		t.Run(path, func(t *testing.T) {
			w := newWorld(t)
			w.lifetime = 3600
			services := []*oauth.Service{w.service, w.another(w.path), w.another(w.path)}
			if path == "memory" {
				w.service = w.another("")
				services = []*oauth.Service{w.service}
			}
			w.ok()
			for range 3 {
				before := w.refreshes()
				w.pass(2 * time.Hour)
				var all sync.WaitGroup
				for i := range 60 {
					all.Go(func() {
						status, err := w.call(services[i%len(services)], w.spec, false)
						if err != nil || status != http.StatusOK {
							t.Errorf("status %d, %v", status, err)
						}
					})
				}
				all.Wait()
				require.Equal(t, before+1, w.refreshes())
			}
			require.Equal(t, 1, w.opens)
		})
	}
}

// The authorization server forgets the refresh token: the user signs in again.
func TestRefreshTokenIsGone(t *testing.T) {
	w := newWorld(t)
	w.lifetime = 3600
	w.ok()
	w.with(func() { clear(w.refresh); clear(w.granted) })
	w.pass(2 * time.Hour)
	_, err := w.call(w.service, w.spec, false)
	w.tells(err, fault.MCPSignInRequired, "requires a sign-in")
	signed, err := w.service.Tokens(t.Context())
	require.NoError(t, err)
	require.Empty(t, signed)
	w.ok()
	require.Equal(t, 2, w.opens)
	known := 1
	if w.authorizations[0].Get("redirect_uri") != w.authorizations[1].Get("redirect_uri") {
		known = 2 // the port was in use in the meantime
	}
	require.Len(t, w.registrations, known, "the client is still known")

	w.with(func() { clear(w.clients) }) // and now it is free
	w.pass(2 * time.Hour)
	w.ok()
	require.Equal(t, 3, w.opens)
	require.Len(t, w.registrations, known+1)
}

// A temporarily failing refresh does not end the sign-in, and costs nothing while
// the token is still valid.
func TestRefreshFailsForTheMoment(t *testing.T) {
	w := newWorld(t)
	w.lifetime = 3600
	w.ok()
	w.with(func() {
		w.tokenAnswer = func(rw http.ResponseWriter, r *http.Request) {
			rw.WriteHeader(http.StatusServiceUnavailable)
			_, _ = rw.Write([]byte(canary + r.PostForm.Encode()))
		}
	})
	w.pass(59*time.Minute + 10*time.Second)
	w.ok()
	w.ok()
	require.Equal(t, 1, w.refreshes(), "the second call does not try again at once")
	w.pass(restFor)
	w.ok()
	require.Equal(t, 2, w.refreshes())

	w.pass(time.Hour)
	w.fails(fault.MCPServerUnavailable, "HTTP status 503")
	w.with(func() { w.tokenAnswer = nil })
	w.ok()
	require.Equal(t, 1, w.opens)
}

const restFor = 15 * time.Second

// An invalid refresh answer leaves the tokens unchanged.
func TestRefreshAnswerIsJunk(t *testing.T) {
	w := newWorld(t)
	w.lifetime = 3600
	w.ok()
	before, err := os.ReadFile(w.path)
	require.NoError(t, err)
	w.with(func() {
		w.tokenAnswer = func(rw http.ResponseWriter, _ *http.Request) {
			writeJSON(rw, http.StatusOK, map[string]any{"access_token": canary + "\n", "token_type": "Bearer"})
		}
	})
	w.pass(2 * time.Hour)
	w.fails(fault.MCPSignInRequired, "cannot be sent")
	after, err := os.ReadFile(w.path)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

// A cancelled call does not lose the refresh token that was being issued.
func TestRefreshOutlivesItsCaller(t *testing.T) {
	w := newWorld(t)
	w.lifetime = 3600
	w.ok()
	ctx, cancel := context.WithCancel(t.Context())
	w.with(func() {
		w.tokenAnswer = func(rw http.ResponseWriter, r *http.Request) {
			cancel()
			w.token(rw, r)
		}
	})
	w.pass(2 * time.Hour)
	_, err := w.callCtx(ctx, w.service, w.spec, false)
	require.Error(t, err)
	w.with(func() { w.tokenAnswer = nil })
	w.ok()
	require.Equal(t, 1, w.refreshes())
	require.Equal(t, 1, w.opens)
}

// EX-15, CF-02: unknown content of the file is kept, and so are the tokens of
// other servers.
func TestUnknownContentIsKept(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, os.MkdirAll(filepath.Dir(w.path), 0o700))
	before := `{"other":{"n":12345678901234567890,"x":"<&>"},"mcpServers":[
		{"server":"else","url":"https://e.example","issuer":"https://i.example","later":{"a":[1]},"accessToken":"t"},
		{"unfinished":true}, 7, {"server":"srv","url":"` + w.rs.URL + `/mcp","issuer":"x","later":"kept"}]}`
	require.NoError(t, os.WriteFile(w.path, []byte(before), 0o644))
	w.ok()
	text, err := os.ReadFile(w.path)
	require.NoError(t, err)
	var all struct {
		Other      json.RawMessage   `json:"other"`
		MCPServers []json.RawMessage `json:"mcpServers"`
	}
	require.NoError(t, json.Unmarshal(text, &all))
	require.JSONEq(t, `{"n":12345678901234567890,"x":"<&>"}`, string(all.Other))
	require.Contains(t, string(all.Other), "12345678901234567890")
	require.Len(t, all.MCPServers, 4)
	joined := string(text)
	for _, kept := range []string{`"later": "kept"`, `"unfinished": true`, `"later": {`, `"https://e.example"`} {
		require.Contains(t, joined, kept)
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(w.path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "it was readable by all")
	}
	_, err = w.service.SignOut(t.Context(), "srv")
	require.NoError(t, err)
	_, err = w.service.SignOut(t.Context(), "else")
	require.NoError(t, err)
	text, err = os.ReadFile(w.path)
	require.NoError(t, err)
	require.Contains(t, string(text), "unfinished")
	require.NotContains(t, string(text), canary)
}

// A malformed file is reported and not overwritten; servers that require no token
// are unaffected.
func TestBrokenFile(t *testing.T) {
	for name, content := range map[string]string{
		"not JSON": `{"accessToken": "` + canary, "a list": `["` + canary + `"]`, "null": `null`, "servers are no list": `{"mcpServers":{"a":"` + canary + `"}}`,
		"too large": `{"x":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, os.MkdirAll(filepath.Dir(w.path), 0o700))
			require.NoError(t, os.WriteFile(w.path, []byte(content), 0o600))
			f := w.fails(fault.InvalidConfig, w.path)
			require.Contains(t, f.Remedy, "move it away")
			w.tells(w.service.SignIn(t.Context(), w.spec), fault.InvalidConfig, w.path)
			_, err := w.service.SignOut(t.Context(), "srv")
			w.tells(err, fault.InvalidConfig, w.path)
			_, err = w.service.Tokens(t.Context())
			w.tells(err, fault.InvalidConfig, w.path)
			after, err := os.ReadFile(w.path)
			require.NoError(t, err)
			require.Equal(t, content, string(after))
			require.Empty(t, w.tokenForms, "nobody signs in for nothing")

			w.with(func() { w.granted[""] = nil }) // it requires no token
			status, err := w.call(w.service, w.spec, true)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status)
		})
	}
	t.Run("empty", func(t *testing.T) {
		w := newWorld(t)
		require.NoError(t, os.MkdirAll(filepath.Dir(w.path), 0o700))
		require.NoError(t, os.WriteFile(w.path, []byte("\n"), 0o600))
		w.ok()
	})
	t.Run("a directory", func(t *testing.T) {
		w := newWorld(t)
		require.NoError(t, os.MkdirAll(w.path, 0o700))
		w.fails(fault.InvalidConfig, "not a regular file")
	})
}

// A link to the file is followed, not replaced.
func TestLinkedFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	w := newWorld(t)
	real := filepath.Join(t.TempDir(), "tokens.json")
	require.NoError(t, os.WriteFile(real, []byte("{}"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Dir(w.path), 0o700))
	require.NoError(t, os.Symlink(real, w.path))
	w.ok()
	info, err := os.Lstat(w.path)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	text, err := os.ReadFile(real)
	require.NoError(t, err)
	require.Contains(t, string(text), canary)
}

// Several processes save tokens of several servers concurrently, and none is
// lost.
func TestProcesses(t *testing.T) {
	if path := os.Getenv("OAUTH_TEST_SIGN_IN"); path != "" {
		w := newWorld(t)
		s := w.another(path)
		for i := range 10 {
			w.spec.Name = os.Getenv("OAUTH_TEST_NAME") + "-" + string(rune('a'+i))
			require.NoError(t, s.SignIn(t.Context(), w.spec))
		}
		return
	}
	path := filepath.Join(t.TempDir(), "auth-cache.json")
	var all sync.WaitGroup
	for _, name := range []string{"one", "two", "three"} {
		all.Go(func() {
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcesses$")
			c.Env = append(os.Environ(), "OAUTH_TEST_SIGN_IN="+path, "OAUTH_TEST_NAME="+name)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		})
	}
	all.Wait()
	signed, err := oauth.New(oauth.Options{StorePath: path, Now: func() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }}).Tokens(t.Context())
	require.NoError(t, err)
	require.Len(t, signed, 30)
}

// FuzzEntry: an entry that is read is written again with its whole content.
func FuzzEntry(f *testing.F) {
	f.Add([]byte(`{"server":"a","url":"b","issuer":"c","later":[1,2],"scopes":["x"],"expiresAt":"2026-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"server":"a"}`))
	f.Add([]byte(`{"server":"a","url":"b","issuer":"c","clientId":null,"Server":"d"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		_, ok := oauth.ParseEntry(raw)
		if err := os.WriteFile(path, []byte(`{"mcpServers":[`+string(raw)+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		s := oauth.New(oauth.Options{StorePath: path})
		_, err := s.SignOut(t.Context(), "nobody")
		if ok && err != nil {
			t.Fatal(err)
		}
		if text, readErr := os.ReadFile(path); readErr == nil && err == nil && !json.Valid(text) {
			t.Fatalf("%q is no JSON", text)
		}
	})
}

// A token in the query is refreshed when it is refused, like one in the header.
func TestTokenInTheQuery(t *testing.T) {
	w := newWorld(t)
	w.ok()
	w.spec.OAuth.TokenParamName = "access"
	h := w.service.Handler(w.spec, false)
	source, err := h.TokenSource(t.Context())
	require.NoError(t, err)
	token, err := source.Token()
	require.NoError(t, err)
	sent, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.spec.URL+"?access="+token.AccessToken, nil)
	require.NoError(t, err)
	plain, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.spec.URL, nil)
	require.NoError(t, err)
	refused := &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody, Request: sent}
	require.NoError(t, h.Authorize(t.Context(), plain, refused))
	require.Equal(t, 1, w.refreshes())
	next, err := source.Token()
	require.NoError(t, err)
	require.NotEqual(t, token.AccessToken, next.AccessToken)
	require.NoError(t, h.Authorize(t.Context(), plain, refused), "it is another one by now")
	require.Equal(t, 1, w.refreshes())
}

// While the user takes time for a sign-in, a token that is still valid is used,
// and not refreshed concurrently.
func TestPersonHoldsNobodyUp(t *testing.T) {
	w := newWorld(t)
	w.lifetime = 3600
	w.ok()
	shown, release := make(chan struct{}), make(chan struct{})
	o := w.options(w.path)
	o.OpenURL = func(ctx context.Context, address string) error {
		close(shown)
		<-release
		return w.open(ctx, address)
	}
	s := oauth.New(o)
	w.with(func() { w.needs = []string{"more"} })
	done := make(chan error, 1)
	go func() {
		_, err := w.call(s, w.spec, true)
		done <- err
	}()
	<-shown
	w.pass(59*time.Minute + 30*time.Second)
	source, err := s.Handler(w.spec, true).TokenSource(t.Context())
	require.NoError(t, err)
	token, err := source.Token()
	require.NoError(t, err)
	require.NotNil(t, token)
	require.Zero(t, w.refreshes())
	close(release)
	require.NoError(t, <-done)
}

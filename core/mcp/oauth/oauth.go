// Package oauth signs the user in to MCP servers and stores their tokens. It
// implements OAuth 2.1 with PKCE as described in the protocol's chapter on
// authorization.
package oauth

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// Options configure a [Service]. The zero value uses stored tokens but cannot
// sign in.
type Options struct {
	StorePath string // absolute path of the token file; "": tokens live as long as the Service
	// OpenURL shows the sign-in page to the user, usually in a browser. It may
	// return before the user has signed in. ctx ends with the sign-in, which then
	// waits for OpenURL to return. nil: sign-in is not possible.
	OpenURL           func(ctx context.Context, url string) error
	Transport         http.RoundTripper // for metadata, registration and token requests; nil: http.DefaultTransport
	ClientName        string            // shown to the user at sign-in; "": fettle
	ClientMetadataURL string            // https address of fettle's client metadata document; "": none
	CallbackTimeout   time.Duration     // time limit for the user; 0: 5 min
	Now               func() time.Time  // nil: time.Now
	Logger            *slog.Logger      // nil: nothing is logged; secrets are never logged
}

// Limits.
const (
	callbackTimeout = 5 * time.Minute
	requestLimit    = 30 * time.Second // of one request to an authorization server, including the answer's body
	freshFor        = time.Minute      // a token with less remaining lifetime is refreshed before use
	restFor         = 15 * time.Second // between two attempts to refresh a token that is still valid
	askedAtMost     = 3                // automatic sign-ins at one server within askedWithin
	askedWithin     = 10 * time.Minute
)

// Service signs in to servers and provides their tokens to the connections of one
// or several processes. The processes share the file at StorePath, and only one
// of them refreshes a token at a time. It is safe for concurrent use and need not
// be closed.
//
// A token is bound to the server's name, its URL and the authorization server
// that issued it: another URL under the same name requires a new sign-in. Errors
// are *fault.Error: mcp_sign_in_required if the user has to act,
// mcp_server_unavailable if a retry may help, invalid_config, file_write_failure
// and cancelled. No error, log record or printed value contains a token, code,
// verifier or secret.
type Service struct {
	o      Options
	client *http.Client
	store  store

	mu      sync.Mutex
	servers map[key]*server
}

// key identifies a token together with its issuer.
type key struct{ name, url string }

// server serializes the operations of the Service for one server.
type server struct {
	busy chan struct{} // holds a value while an operation runs

	mu    sync.Mutex
	done  int         // number of completed operations
	err   error       // the last outcome
	asked []time.Time // times of automatic sign-ins
	no    error       // outcome of the last of them; nil: success
	rest  time.Time   // until then a token that is still valid is not refreshed
}

// New returns a Service. It does no I/O.
func New(o Options) *Service {
	o.ClientName = cmp.Or(o.ClientName, "fettle")
	o.CallbackTimeout = cmp.Or(o.CallbackTimeout, callbackTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Service{o: o, client: newClient(o.Transport), store: store{path: o.StorePath}, servers: map[key]*server{}}
}

// Handler returns the handler that authorizes the requests of one connection to a
// server at a URL. It sends the server's token, if one is stored, and renews it
// when necessary.
//
// If interactive and spec.OAuth.Enabled are set and Options.OpenURL is not nil, a
// request that the server refuses because of a missing token or scope opens the
// sign-in page, at most three times in ten minutes. Otherwise it fails with code
// mcp_sign_in_required, and the error explains how to sign in.
func (s *Service) Handler(spec mcp.ServerSpec, interactive bool) auth.OAuthHandler {
	ask := interactive && s.o.OpenURL != nil && spec.OAuth != nil && spec.OAuth.Enabled
	return &handler{s: s, spec: spec, interactive: ask}
}

// Auth provides the handlers for all connections of a program.
type Auth struct {
	s           *Service
	interactive bool
}

// Auth returns an [Auth], see [Service.Handler].
func (s *Service) Auth(interactive bool) Auth { return Auth{s, interactive} }

// Handler calls [Service.Handler].
func (a Auth) Handler(spec mcp.ServerSpec) auth.OAuthHandler { return a.s.Handler(spec, a.interactive) }

// SignIn opens the sign-in page of a server, even if the user is already signed
// in there, and stores the tokens. With a server that accepts fettle's client
// secret alone, it signs in without a page.
func (s *Service) SignIn(ctx context.Context, spec mcp.ServerSpec) error {
	k, err := keyOf(spec)
	if err != nil {
		return err
	}
	return s.once(ctx, k, false, func(ctx context.Context) error {
		found, wanted, err := s.probe(ctx, spec)
		if err != nil {
			return err
		}
		p, err := s.discover(ctx, spec, found)
		if err != nil {
			return err
		}
		if !wanted && p.guessed {
			return unusable(spec.Name, "it requires none.", "Use it without a sign-in.")
		}
		if machineOnly(spec, p.meta) {
			return s.signInMachine(ctx, spec, p)
		}
		if err := s.signInPerson(ctx, spec, p, true); err != nil {
			return err
		}
		s.asPleased(k)
		return nil
	})
}

// SignOut deletes all tokens stored under a server's name, for every URL, and
// reports whether there were any. It does not notify the server.
func (s *Service) SignOut(ctx context.Context, name string) (bool, error) {
	removed := false
	err := s.store.update(ctx, func(all []entry) []entry {
		kept := slices.DeleteFunc(all, func(e entry) bool { return e.Server == name })
		removed = len(kept) < len(all)
		return kept
	})
	return removed, err
}

// SignedIn describes a stored token without containing it.
type SignedIn struct {
	Server    string
	URL       string    // of the server, without its query
	Issuer    string    // the issuer of the token
	Scopes    []string  // sorted; nil: not reported by the server
	Until     time.Time // zero: unknown
	Refreshes bool      // it can be renewed without the user after that
}

// Tokens returns the servers with a stored sign-in, sorted by name. Expired
// tokens that cannot be renewed are omitted.
func (s *Service) Tokens(ctx context.Context) ([]SignedIn, error) {
	all, err := s.store.read(ctx)
	if err != nil {
		return nil, err
	}
	var signed []SignedIn
	for _, e := range all {
		if e.RefreshToken == "" && !e.valid(s.o.Now()) {
			continue
		}
		signed = append(signed, SignedIn{
			Server: e.Server, URL: withoutQuery(e.URL), Issuer: e.Issuer,
			Scopes: slices.Sorted(slices.Values(e.Scopes)), Until: e.ExpiresAt, Refreshes: e.RefreshToken != "",
		})
	}
	slices.SortFunc(signed, func(a, b SignedIn) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.URL, b.URL))
	})
	return signed, nil
}

// once runs one operation at a time for a server. With share, a caller that had
// to wait receives the failure of the operation it waited for: a hundred calls
// that are refused together cause one sign-in, and one failure.
func (s *Service) once(ctx context.Context, k key, share bool, work func(ctx context.Context) error) error {
	srv := s.server(k)
	srv.mu.Lock()
	before := srv.done
	srv.mu.Unlock()
	select {
	case srv.busy <- struct{}{}:
	case <-ctx.Done():
		return cancelled(ctx, k.name)
	}
	defer func() { <-srv.busy }()
	srv.mu.Lock()
	waited, failure := srv.done != before, srv.err
	srv.mu.Unlock()
	if share && waited && failure != nil {
		return failure
	}
	err := work(ctx)
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.done++
	srv.err = err
	if ctx.Err() != nil {
		srv.err = nil // this caller gave up; the next one retries
	}
	return err
}

func (s *Service) server(k key) *server {
	s.mu.Lock()
	defer s.mu.Unlock()
	srv, ok := s.servers[k]
	if !ok {
		srv = &server{busy: make(chan struct{}, 1)}
		s.servers[k] = srv
	}
	return srv
}

// asPleased resets the record of automatic sign-ins, because the user has signed
// in explicitly.
func (s *Service) asPleased(k key) {
	srv := s.server(k)
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.asked, srv.no = nil, nil
}

// unasked signs in without an explicit request of the user. A failed attempt is
// not repeated for a while, and the number of attempts is bounded, so that a
// server cannot flood the user with pages.
func (s *Service) unasked(ctx context.Context, spec mcp.ServerSpec, k key, p place) error {
	srv, now := s.server(k), s.o.Now()
	srv.mu.Lock()
	srv.asked = slices.DeleteFunc(srv.asked, func(t time.Time) bool { return now.Sub(t) >= askedWithin })
	var no error
	switch often := len(srv.asked); {
	case often > 0 && srv.no != nil:
		no = srv.no
	case often >= askedAtMost:
		no = needed(k.name, fmt.Sprintf("The MCP server %q still requires a sign-in, after %d in the last %d minutes.", k.name, askedAtMost, int(askedWithin.Minutes())))
	default:
		srv.asked = append(srv.asked, now)
	}
	srv.mu.Unlock()
	if no != nil {
		return no
	}
	err := s.signInPerson(ctx, spec, p, false)
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.no = nil; fault.CodeOf(err) == fault.MCPSignInRequired {
		srv.no = err
	}
	return err
}

// needed returns the error for a server that requires the user to sign in.
func needed(name, message string) *fault.Error {
	return fault.New(fault.MCPSignInRequired, "mcp.oauth", message, fmt.Sprintf("Run `fettle mcp auth %s`.", name))
}

// refused returns the error of a failed sign-in.
func refused(name, why string) *fault.Error {
	return needed(name, fmt.Sprintf("The sign-in to the MCP server %q failed: %s", name, why))
}

// unavailable returns the error of an operation that may succeed later.
func unavailable(name, why string) *fault.Error {
	return fault.New(fault.MCPServerUnavailable, "mcp.oauth", fmt.Sprintf("The sign-in to the MCP server %q could not be completed or renewed: %s", name, why),
		"Check that the authorization server is reachable, and try again.")
}

func unusable(name, why, remedy string) *fault.Error {
	return fault.New(fault.InvalidConfig, "mcp.oauth", fmt.Sprintf("Sign-in to the MCP server %q is not possible: %s", name, why), remedy)
}

func cancelled(ctx context.Context, name string) *fault.Error {
	return fault.Wrap(fault.Cancelled, "mcp.oauth", fmt.Sprintf("The sign-in to the MCP server %q was cancelled.", name), "", ctx.Err())
}

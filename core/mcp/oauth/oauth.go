// Package oauth signs people in to MCP servers and keeps their tokens: OAuth 2.1
// with PKCE, as the protocol's authorization chapter describes it.
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

// Options are the parts of a [Service]. The zero value uses tokens and gets none.
type Options struct {
	StorePath string // absolute, of the file that keeps tokens; "": they live as long as the Service
	// OpenURL shows the person the page to sign in at, usually in a browser, and may
	// return before the page is answered. ctx ends with the sign-in, which waits for
	// it to return then. nil: nobody can sign in.
	OpenURL           func(ctx context.Context, url string) error
	Transport         http.RoundTripper // of requests for metadata, clients and tokens; nil: http.DefaultTransport
	ClientName        string            // shown to the person at sign-in; "": fettle
	ClientMetadataURL string            // an https address with fettle's client metadata document; "": there is none
	CallbackTimeout   time.Duration     // that the person has for it; 0: 5 min
	Now               func() time.Time  // nil: time.Now
	Logger            *slog.Logger      // nil: nothing is logged; no secret ever is
}

// Limits.
const (
	callbackTimeout = 5 * time.Minute
	requestLimit    = 30 * time.Second // of one request to an authorization server, its answer's body included
	freshFor        = time.Minute      // a token that lives no longer is refreshed before it is used
	restFor         = 15 * time.Second // between two tries to refresh a token that is still good
	askedAtMost     = 3                // sign-ins of one server that nobody asked for, in askedWithin
	askedWithin     = 10 * time.Minute
)

// Service signs in to servers and hands out their tokens, to connections of one
// process or several: they share the file at StorePath, and one of them refreshes
// a token. It is safe for concurrent use, and holds nothing that must be closed.
//
// A token belongs to the server's name, its URL and the authorization server that
// gave it out, and is used for nothing else: another URL under the same name has
// to sign in anew. Its errors are *fault.Error: mcp_sign_in_required where a
// person is needed, mcp_server_unavailable where trying again may help,
// invalid_config, file_write_failure and cancelled. None of them, no log record
// and no text of a type here holds a token, code, verifier or secret.
type Service struct {
	o      Options
	client *http.Client
	store  store

	mu      sync.Mutex
	servers map[key]*server
}

// key is what a token belongs to, beside its issuer.
type key struct{ name, url string }

// server is what the Service does at one server: one thing at a time.
type server struct {
	busy chan struct{} // holds one while something is done

	mu    sync.Mutex
	done  int         // how often something was done
	err   error       // the last outcome
	asked []time.Time // sign-ins that nobody asked for
	no    error       // what became of the last of them; nil: it came off
	rest  time.Time   // until then no token is refreshed that is still good
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

// Handler authorizes the requests of one connection to a server at a URL. It
// sends the server's token, if there is one, and renews it when it must.
//
// With interactive, with spec.OAuth.Enabled and with Options.OpenURL a request
// that the server refuses for want of a token, or of a scope, takes the person to
// the sign-in page, at most three times in ten minutes. Otherwise it fails with
// mcp_sign_in_required, which says how to sign in (EX-15).
func (s *Service) Handler(spec mcp.ServerSpec, interactive bool) auth.OAuthHandler {
	ask := interactive && s.o.OpenURL != nil && spec.OAuth != nil && spec.OAuth.Enabled
	return &handler{s: s, spec: spec, interactive: ask}
}

// Auth gives all connections of a program their handlers.
type Auth struct {
	s           *Service
	interactive bool
}

// Auth returns the handlers of all connections, see [Service.Handler].
func (s *Service) Auth(interactive bool) Auth { return Auth{s, interactive} }

// Handler is [Service.Handler].
func (a Auth) Handler(spec mcp.ServerSpec) auth.OAuthHandler { return a.s.Handler(spec, a.interactive) }

// SignIn takes the person to the sign-in page of a server, also if he is signed
// in there already, and keeps the tokens. A server that knows fettle by its client
// secret alone signs it in without a page.
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
			return unusable(spec.Name, "it does not ask for it.", "Use it as it is.")
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

// SignOut forgets all tokens of a server's name, whatever their URL, and reports
// whether there were any. The server is not told.
func (s *Service) SignOut(ctx context.Context, name string) (bool, error) {
	removed := false
	err := s.store.update(ctx, func(all []entry) []entry {
		kept := slices.DeleteFunc(all, func(e entry) bool { return e.Server == name })
		removed = len(kept) < len(all)
		return kept
	})
	return removed, err
}

// SignedIn tells that there is a token of a server. It does not hold it.
type SignedIn struct {
	Server    string
	URL       string    // of the server, without its query
	Issuer    string    // who gave the token out
	Scopes    []string  // what it is good for, sorted; nil: the server has not said
	Until     time.Time // zero: not known
	Refreshes bool      // it is renewed without the person after that
}

// Tokens tells at which servers somebody is signed in, by name, expired tokens
// that cannot be renewed left out.
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

// once does one thing at a time at a server. With share, who had to wait for
// another's failure has it too: a hundred calls that are refused together are one
// sign-in, and one failure.
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
		srv.err = nil // this caller gave up; the next one tries
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

// asPleased forgets what was asked of the person: he has signed in by himself.
func (s *Service) asPleased(k key) {
	srv := s.server(k)
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.asked, srv.no = nil, nil
}

// unasked signs the person in, who did not ask for it. One that has come to
// nothing is not tried again for a while, and a server that is never content may
// not fill the screen.
func (s *Service) unasked(ctx context.Context, spec mcp.ServerSpec, k key, p place) error {
	srv, now := s.server(k), s.o.Now()
	srv.mu.Lock()
	srv.asked = slices.DeleteFunc(srv.asked, func(t time.Time) bool { return now.Sub(t) >= askedWithin })
	var no error
	switch often := len(srv.asked); {
	case often > 0 && srv.no != nil:
		no = srv.no
	case often >= askedAtMost:
		no = needed(k.name, fmt.Sprintf("The MCP server %q still wants a sign-in, after %d in the last %d minutes.", k.name, askedAtMost, int(askedWithin.Minutes())))
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

// needed is the error of a server that only a person can sign in to.
func needed(name, message string) *fault.Error {
	return fault.New(fault.MCPSignInRequired, "mcp.oauth", message, fmt.Sprintf("Run `fettle mcp auth %s`.", name))
}

// refused is the error of a sign-in that came to nothing.
func refused(name, why string) *fault.Error {
	return needed(name, fmt.Sprintf("Nobody was signed in to the MCP server %q: %s", name, why))
}

// unavailable is the error of something that may work later.
func unavailable(name, why string) *fault.Error {
	return fault.New(fault.MCPServerUnavailable, "mcp.oauth", fmt.Sprintf("The sign-in to the MCP server %q could not be done or renewed: %s", name, why),
		"Look whether the server that signs in can be reached, and try again.")
}

func unusable(name, why, remedy string) *fault.Error {
	return fault.New(fault.InvalidConfig, "mcp.oauth", fmt.Sprintf("The MCP server %q cannot be signed in to: %s", name, why), remedy)
}

func cancelled(ctx context.Context, name string) *fault.Error {
	return fault.Wrap(fault.Cancelled, "mcp.oauth", fmt.Sprintf("Signing in to the MCP server %q was cancelled.", name), "", ctx.Err())
}

// Package webfetch gets web pages as text. It stands between a model and the
// network: it asks public addresses alone unless it is told otherwise, and
// bounds time, bytes and text whatever a server does.
package webfetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Options configure a [Service]. Every field may be zero.
type Options struct {
	// AllowPrivate lets this machine and private networks be asked like any other
	// host. Link-local addresses, where clouds keep credentials, and those that
	// nobody's server has stay refused.
	AllowPrivate bool
	// Allow lists what is asked although the guard would refuse it: a host name
	// or an IP address, each with or without a port, or a prefix, as
	// "wiki.internal", "localhost:8080", "[::1]:80", "10.1.0.0/16". A name
	// stands for whatever it resolves to, but not for names below it.
	Allow []string

	// Timeout ends one fetch: connecting, redirects, retries and the body.
	// Zero: 10 seconds. CallTimeout ends a call with all its fetches and the
	// conversion of what they brought. Zero: 30 seconds.
	Timeout, CallTimeout time.Duration
	// MaxBytes is how large a body may be, in bytes, as sent and after it is
	// decompressed; a larger one is refused. Zero: 10 MiB.
	MaxBytes int64
	// MaxChars is how much text one call returns, in characters, shared
	// among its pages: what a short page leaves goes to the longer ones. Zero:
	// 250,000. MaxErrorChars is how much of it is shown of the body of an
	// answer that is no success. Zero: 10,000.
	MaxChars, MaxErrorChars int
	// MaxRedirects is how often a fetch is led on. Zero: 10; negative: never.
	MaxRedirects int
	// Retries is how often a request is repeated that met a lost connection, or
	// an answer with status 429 or 5xx. Zero: 2; negative: never. Backoff is
	// the pause before the first of them, doubled for each further one; a
	// Retry-After header may ask for a longer one, within Timeout. Zero: 500 ms.
	Retries int
	Backoff time.Duration
	// PerMinute is how many fetches may ask one host and port within a minute.
	// Zero: 60; negative: any number.
	PerMinute int
	// Parallel is how many fetches of one call run at once. Zero: 8.
	Parallel int

	// UserAgent is the header of that name. "": fettle.
	UserAgent string
	// Proxy returns the proxy for a request, or nil for none, as
	// http.ProxyFromEnvironment does. The proxy may be private; what it is asked
	// for may not, at any redirect: names are looked up here, and all their
	// addresses checked, before the proxy is given the name. nil: no proxy.
	Proxy func(*http.Request) (*url.URL, error)
	// ProxyDecides leaves names that cannot be looked up here to the proxy. false:
	// they are refused. Names that are at private addresses stay refused.
	ProxyDecides bool
	// Resolver looks up host names. nil: net.DefaultResolver.
	Resolver *net.Resolver
	// TLS is the configuration of secure connections. nil: the zero one.
	TLS *tls.Config
	// Now is the clock of PerMinute and of Retry-After dates. nil: time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.CallTimeout = cmp.Or(o.CallTimeout, 30*time.Second)
	o.MaxBytes = cmp.Or(o.MaxBytes, 10<<20)
	o.MaxChars = cmp.Or(o.MaxChars, 250_000)
	o.MaxErrorChars = cmp.Or(o.MaxErrorChars, 10_000)
	o.MaxRedirects = cmp.Or(o.MaxRedirects, 10)
	o.Retries = cmp.Or(o.Retries, 2)
	o.Backoff = cmp.Or(o.Backoff, 500*time.Millisecond)
	o.PerMinute = cmp.Or(o.PerMinute, 60)
	o.Parallel = cmp.Or(o.Parallel, 8)
	o.UserAgent = cmp.Or(o.UserAgent, "fettle")
	o.Resolver = cmp.Or(o.Resolver, net.DefaultResolver)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Page is what came of one URL. Err is nil exactly if the server's answer was
// a success whose text is shown; with an error Status, ContentType and Text may
// still tell of the answer.
//
// FinalURL, ContentType and what Err quotes are the server's to choose, and are
// shown without the mark of untrusted text. So a URL that a redirect leads to
// has at most 2,000 bytes, with all percent-encoded that a URL may not hold; a
// media type at most 100 characters, all of which a token may hold; and what is
// quoted is one line of printable characters, at most 300 of them.
type Page struct {
	URL         string // as asked for
	FinalURL    string // what answered in the end; "" if nothing has
	Status      int    // 0 if nothing has answered
	ContentType string // media type without parameters; "" if unknown
	Text        string // valid UTF-8; Markdown where the page is HTML; from outside, so not to be trusted
	Truncated   bool   // Text is only the beginning
	Notice      string // what was done otherwise than asked; "" if nothing
	Err         *fault.Error
}

// Service fetches pages. It has no cookies, sends no credentials and no
// Referer, and remembers no page. It is safe for concurrent use. A Service that
// has fetched something is to be closed.
type Service struct {
	o       Options
	guard   guard
	limiter limiter
	convert chan struct{} // holds a token for each conversion that runs

	mu     sync.Mutex
	closed bool
	routes *routes            // made by the first call, since most sessions fetch nothing
	calls  map[*call]struct{} // that run
	active sync.WaitGroup     // the same
}

// call is one call that runs.
type call struct{ cancel context.CancelCauseFunc }

// New returns a Service. It does no I/O. The error is of code invalid_config
// and names the entry of Allow that cannot be understood.
func New(o Options) (*Service, error) {
	o = o.withDefaults()
	g, err := newGuard(o.AllowPrivate, o.Allow)
	if err != nil {
		return nil, err
	}
	// Conversion takes much memory, so two at once are enough.
	s := &Service{o: o, guard: g, convert: make(chan struct{}, 2)}
	s.limiter = limiter{most: o.PerMinute, now: o.Now}
	return s, nil
}

// Check returns the error that New would, and makes nothing.
func Check(o Options) error {
	_, err := newGuard(o.AllowPrivate, o.Allow)
	return err
}

// What ends a fetch, as the cause of its context.
var (
	errTimeout     = errors.New("the time of the fetch is over")
	errCallTimeout = errors.New("the time of the call is over")
	errClosed      = errors.New("the session has ended")
)

// Fetch gets each of the URLs, several at once, and returns what came of them
// in their order. It returns when all are done, or when the time of the call
// is over or ctx ends: pages that are not done then have an error.
//
// Errors of pages are of code web_fetch_processing_error, with reason
// private_address where the guard refused; invalid_tool_params for a URL that
// is none; cancelled; or not_initialized after Close.
func (s *Service) Fetch(ctx context.Context, urls []string) []Page {
	pages := make([]Page, len(urls))
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		for i, u := range urls {
			pages[i] = Page{URL: u, Err: err}
		}
		return pages
	}
	defer leave()
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.CallTimeout, errCallTimeout)
	defer cancel()
	slots := make(chan struct{}, s.o.Parallel)
	var fetches sync.WaitGroup
	for i, u := range urls {
		fetches.Go(func() {
			select {
			case slots <- struct{}{}:
				pages[i] = s.fetch(ctx, u)
				<-slots
			case <-ctx.Done():
				pages[i] = Page{URL: u, Err: s.ended(context.Cause(ctx), u)}
			}
		})
	}
	fetches.Wait()
	share(pages, s.o.MaxChars)
	return pages
}

// Check refuses a URL that Fetch would refuse without asking anybody: no
// http or https, credentials in it, a host that is plainly private. The error
// is as in Fetch. It does no I/O.
func (s *Service) Check(rawURL string) error {
	u, err := ParseURL(rawURL)
	if err != nil {
		return err
	}
	return asError(s.guard.checkHost(u))
}

// asError keeps a nil *fault.Error from becoming an error that is not nil.
func asError(f *fault.Error) error {
	if f == nil {
		return nil
	}
	return f
}

// enter notes that a call runs, until leave is called, so that Close can end
// it and wait for it.
func (s *Service) enter(ctx context.Context) (_ context.Context, leave func(), _ *fault.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, fault.New(fault.NotInitialized, op, "The session has ended, so nothing is fetched.", "Start a new session.")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c := &call{cancel}
	if s.routes == nil {
		s.routes, s.calls = newRoutes(s.o, s.guard), map[*call]struct{}{}
	}
	s.calls[c] = struct{}{}
	s.active.Add(1)
	return ctx, func() {
		cancel(nil)
		s.mu.Lock()
		delete(s.calls, c)
		s.mu.Unlock()
		s.active.Done()
	}, nil
}

// Close ends the calls that run, waits for them, and closes all connections.
// Further calls do nothing. It always returns nil.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	for c := range s.calls {
		c.cancel(errClosed)
	}
	s.mu.Unlock()
	s.active.Wait()
	if s.routes != nil { // no call changes it any more
		s.routes.close()
	}
	return nil
}

// ended says why a fetch had to end, from the cause that its context has.
func (s *Service) ended(cause error, target string) *fault.Error {
	switch {
	case errors.Is(cause, errTimeout):
		return failed(fmt.Sprintf("%s was not fetched within %v, so the attempt was ended.", show(target), s.o.Timeout),
			"Try again later, or use another source; the server is slow or does not answer.", cause)
	case errors.Is(cause, errCallTimeout):
		return failed(fmt.Sprintf("%s was not fetched, as the call had taken %v.", show(target), s.o.CallTimeout), "Fetch fewer URLs at once.", cause)
	default:
		return fault.Wrap(fault.Cancelled, op, "The call was cancelled before "+show(target)+" was fetched.", "", cause)
	}
}

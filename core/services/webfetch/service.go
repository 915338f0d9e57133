// Package webfetch fetches web pages as text. It guards the network against a model: it requests
// only public addresses unless configured otherwise, and it bounds time, bytes and text for every
// server.
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
	// AllowPrivate allows this machine and private networks like any other host. Link-local
	// addresses, where cloud providers serve credentials, and reserved addresses stay refused.
	AllowPrivate bool
	// Allow lists hosts that are requested despite the guard: a host name or an IP address, each
	// with or without a port, or a prefix, such as "wiki.internal", "localhost:8080", "[::1]:80",
	// "10.1.0.0/16". A name allows every address it resolves to, but not its subdomains.
	Allow []string

	// Timeout limits one fetch: connection, redirects, retries and body. Zero: 10 seconds.
	// CallTimeout limits a call with all its fetches and their conversion. Zero: 30 seconds.
	Timeout, CallTimeout time.Duration
	// MaxBytes is the limit of a body, in bytes, both as sent and decompressed; a larger body is
	// refused. Zero: 10 MiB.
	MaxBytes int64
	// MaxChars is the limit of the text that one call returns, in characters. Its pages share it:
	// short pages leave their remainder to longer ones. Zero: 250,000. MaxErrorChars is the limit
	// of the text of a response without success, within MaxChars. Zero: 10,000.
	MaxChars, MaxErrorChars int
	// MaxRedirects is the limit of redirects of one fetch. Zero: 10; negative: none.
	MaxRedirects int
	// Retries is the limit of retries of a request after a lost connection or a response with
	// status 429 or 5xx. Zero: 2; negative: none. Backoff is the pause before the first retry,
	// doubled for each further one. A Retry-After header may request a longer pause, within
	// Timeout. Zero: 500 ms.
	Retries int
	Backoff time.Duration
	// PerMinute is the limit of fetches from one host and port within a minute. Zero: 60; negative:
	// unlimited.
	PerMinute int
	// Parallel is the number of concurrent fetches of one call. Zero: 8.
	Parallel int

	// UserAgent is the User-Agent header. "": fettle.
	UserAgent string
	// Proxy returns the proxy of a request, or nil for a direct connection, as
	// http.ProxyFromEnvironment does. The proxy may have a private address, but the requested host
	// may not, at any redirect: names are resolved here and all their addresses checked before the
	// proxy receives the name. nil: no proxy.
	Proxy func(*http.Request) (*url.URL, error)
	// ProxyDecides leaves names that cannot be resolved here to the proxy. false: they are refused.
	// Names that resolve to private addresses stay refused.
	ProxyDecides bool
	// Resolver resolves host names. nil: net.DefaultResolver.
	Resolver *net.Resolver
	// TLS is the configuration of secure connections. nil: the zero configuration.
	TLS *tls.Config
	// Now is the clock for PerMinute and for Retry-After dates. nil: time.Now.
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

// Page is the result of one URL. Err is nil exactly if the response was a success whose text is
// shown. With an error, Status, ContentType and Text may still describe the response.
//
// A server chooses FinalURL, ContentType and the quotations in Err, and these are displayed without
// the mark of untrusted text. They are therefore restricted. The URL of a redirect has at most
// 2,000 bytes, with every character percent-encoded that a URL may not contain. A media type has at
// most 100 characters, all valid in a token. A quotation is one line of at most 300 printable
// characters.
type Page struct {
	URL         string // as requested
	FinalURL    string // URL of the last response; "" without a response
	Status      int    // HTTP status; 0 without a response
	ContentType string // media type without parameters; "" if unknown
	Text        string // valid UTF-8; Markdown for an HTML page; untrusted
	Truncated   bool   // Text is only the beginning of the page
	Notice      string // a deviation from the request, for the model; "" if none
	Err         *fault.Error
}

// Service fetches pages. It has no cookies, sends no credentials and no Referer header, and caches
// nothing. It is safe for concurrent use. The caller closes a Service that has fetched a page.
type Service struct {
	o       Options
	guard   guard
	limiter limiter
	convert chan struct{} // holds a token for each running conversion

	mu     sync.Mutex
	closed bool
	routes *routes            // created by the first call, because most sessions fetch nothing
	calls  map[*call]struct{} // running calls
	active sync.WaitGroup     // counts the running calls
}

// call is one running call.
type call struct{ cancel context.CancelCauseFunc }

// New returns a Service. It does no I/O. The error has code invalid_config and names the invalid
// entry of Allow.
func New(o Options) (*Service, error) {
	o = o.withDefaults()
	g, err := newGuard(o.AllowPrivate, o.Allow)
	if err != nil {
		return nil, err
	}
	// A conversion needs much memory, so at most two run concurrently.
	s := &Service{o: o, guard: g, convert: make(chan struct{}, 2)}
	s.limiter = limiter{limit: o.PerMinute, now: o.Now}
	return s, nil
}

// Check returns the error that New would return. It creates nothing.
func Check(o Options) error {
	_, err := newGuard(o.AllowPrivate, o.Allow)
	return err
}

// Causes of a fetch context that has ended.
var (
	errTimeout     = errors.New("the fetch exceeded its time limit")
	errCallTimeout = errors.New("the call exceeded its time limit")
	errClosed      = errors.New("the session has ended")
)

// Fetch fetches the URLs concurrently and returns their pages in the same order. It returns when
// all have finished, when CallTimeout has passed or when ctx ends; unfinished pages have an error
// then.
//
// The Err of a page has code web_fetch_processing_error, with reason private_address for a refusal
// of the guard; invalid_tool_params for an invalid URL; cancelled; or not_initialized after Close.
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

// Check refuses a URL that Fetch would refuse before a request: another scheme than http or https,
// credentials, a private address or a name of this machine. The error is as in Fetch. Check does no
// I/O.
func (s *Service) Check(rawURL string) error {
	u, err := ParseURL(rawURL)
	if err != nil {
		return err
	}
	return asError(s.guard.checkHost(u))
}

// asError keeps a nil *fault.Error from becoming a non-nil error.
func asError(f *fault.Error) error {
	if f == nil {
		return nil
	}
	return f
}

// enter registers a running call until leave is called, so that Close can cancel it and wait for
// it.
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

// Close cancels the running calls, waits for them and closes all connections. Further calls have no
// effect. It always returns nil.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	for c := range s.calls {
		c.cancel(errClosed)
	}
	s.mu.Unlock()
	s.active.Wait()
	if s.routes != nil { // no running call is left that could change it
		s.routes.close()
	}
	return nil
}

// ended returns the error of a fetch whose context has ended, from the cause of the context.
func (s *Service) ended(cause error, target string) *fault.Error {
	switch {
	case errors.Is(cause, errTimeout):
		return failed(fmt.Sprintf("%s was not fetched within %v, so the request was cancelled.", show(target), s.o.Timeout),
			"Try again later, or use another source; the server is slow or does not respond.", cause)
	case errors.Is(cause, errCallTimeout):
		return failed(fmt.Sprintf("%s was not fetched, because the call had taken %v.", show(target), s.o.CallTimeout), "Fetch fewer URLs at once.", cause)
	default:
		return fault.Wrap(fault.Cancelled, op, "The call was cancelled before "+show(target)+" was fetched.", "", cause)
	}
}

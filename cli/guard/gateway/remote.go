package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/fettle-dev/fettle/core/fault"
)

// Remote describes a server at a URL.
type Remote struct {
	URL     string
	Headers map[string]string
	Auth    auth.OAuthHandler // nil: only Headers authenticate
}

// RunRemote serves a client with a server that is reached over streamable HTTP. It
// returns when the client has closed in, or when the server has ended the session,
// which is an error.
func RunRemote(ctx context.Context, o Options, r Remote, in io.Reader, out io.Writer) error {
	base, err := url.Parse(r.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" {
		return fault.New(fault.InvalidConfig, "gateway", "The URL of the MCP server is not an http or https URL.", "Correct --url.")
	}
	base.Fragment = ""
	o.fill()
	h := &remote{name: o.Server, max: o.MaxMessage, r: r, base: base, in: make(chan []byte), gone: make(chan struct{}), queue: make(chan *message, 64), calls: map[string]context.CancelFunc{}}
	h.ctx, h.cancel = context.WithCancel(ctx)
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	h.plain = &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 30 * time.Second,
		IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 256 << 10, MaxIdleConnsPerHost: 64,
	}
	h.client = &http.Client{Transport: h.plain, CheckRedirect: func(q *http.Request, via []*http.Request) error {
		if len(via) >= 10 || !h.same(q.URL) {
			return errElsewhere
		}
		return nil
	}}
	h.start(h.deliver)
	return run(ctx, o, h, in, out)
}

var errElsewhere = errors.New("it redirects to another address, to which nothing is sent")

// remote is the connection with a server at a URL.
type remote struct {
	name   string
	max    int
	r      Remote
	base   *url.URL
	plain  *http.Transport
	client *http.Client
	// bound returns the arguments of a tool that headers repeat.
	bound func(tool string) []binding

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup // see start
	in      chan []byte    // messages of the server
	gone    chan struct{}  // closed when the server has ended the session
	once    sync.Once
	queue   chan *message // notifications and responses, which keep their order

	mu       sync.Mutex
	session  string
	revision string // negotiated by initialize
	listens  bool   // the stream of the server's own messages is requested
	closed   bool
	calls    map[string]context.CancelFunc // of open requests, by key
}

func (h *remote) receive(use func([]byte)) {
	for {
		select {
		case raw := <-h.in:
			use(raw)
		case <-h.gone:
			return
		case <-h.ctx.Done():
			return
		}
	}
}

// pass hands a message of the server on.
func (h *remote) pass(raw []byte) {
	select {
	case h.in <- raw:
	case <-h.ctx.Done():
	}
}

func (h *remote) send(m *message) {
	if m.isRequest() {
		ctx, cancel := context.WithCancel(h.ctx)
		h.mu.Lock()
		h.calls[m.key()] = cancel
		h.mu.Unlock()
		h.start(func() {
			h.exchange(ctx, m)
			cancel()
			h.mu.Lock()
			delete(h.calls, m.key())
			h.mu.Unlock()
		})
		return
	}
	select {
	case h.queue <- m:
	case <-h.ctx.Done():
	}
}

// start runs f until close, which waits for it.
func (h *remote) start(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.running.Go(f)
	}
}

// deliver sends notifications and responses in their order.
func (h *remote) deliver() {
	for {
		select {
		case m := <-h.queue:
			if response, err := h.post(h.ctx, m); err == nil { // otherwise the next request reports why
				_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
				_ = response.Body.Close()
			}
			switch m.method {
			case methodInitialized:
				h.listen()
			case methodCancelled: // the client no longer waits
				h.mu.Lock()
				cancel := h.calls[idKey(m.params()["requestId"])]
				h.mu.Unlock()
				if cancel != nil {
					cancel()
				}
			}
		case <-h.ctx.Done():
			return
		}
	}
}

// exchange sends a request and passes its response on.
func (h *remote) exchange(ctx context.Context, m *message) {
	response, err := h.post(ctx, m)
	if err != nil {
		h.fail(m, err)
		return
	}
	h.mu.Lock()
	if id := response.Header.Get("Mcp-Session-Id"); id != "" && m.method == methodInitialize {
		h.session = id
	}
	known := h.session != ""
	h.mu.Unlock()
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind == "text/event-stream" && response.StatusCode < 300 {
		h.stream(ctx, m, response)
		return
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, int64(h.max)+1))
	_ = response.Body.Close()
	switch answer, wrong := parse(text); {
	case err != nil:
		h.fail(m, err)
	case len(text) > h.max:
		h.fail(m, errTooLarge)
	case wrong == nil && (answer.key() == m.key() || answer.fields["error"] != nil && response.StatusCode >= 300):
		h.note(m, answer.with("id", m.id))
	case response.StatusCode == http.StatusNotFound && known && m.method != methodInitialize:
		h.fail(m, errors.New("it does not know the session any more, for example after a restart"))
		h.once.Do(func() { close(h.gone) })
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		h.fail(m, fmt.Errorf("it requires a sign-in (HTTP status %d). Sign in with fettle mcp auth, under the same name and URL, or pass a token with --header", response.StatusCode))
	case response.StatusCode >= 300:
		h.fail(m, fmt.Errorf("it answered with the HTTP status %d", response.StatusCode))
	default:
		h.fail(m, errors.New("its response is not a message of the protocol"))
	}
}

// note passes a response on. That of initialize determines the revision.
func (h *remote) note(m, answer *message) {
	if m.method == methodInitialize {
		h.mu.Lock()
		h.revision = text(members(answer.fields["result"])["protocolVersion"])
		h.mu.Unlock()
	}
	h.pass(answer.raw)
}

// fail answers a request that has no response.
func (h *remote) fail(m *message, err error) {
	if h.ctx.Err() != nil {
		return
	}
	var broken *url.Error
	if errors.As(err, &broken) {
		err = broken.Err
	}
	h.pass(failure(m.id, codeServer, unavailable(h.name, "The request failed: "+err.Error()+".", "", nil).Message))
}

// post sends a message. It signs in once if the server requires it.
func (h *remote) post(ctx context.Context, m *message) (*http.Response, error) {
	for signedIn := false; ; signedIn = true {
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base.String(), bytes.NewReader(m.raw))
		if err != nil {
			return nil, err
		}
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Accept", "application/json, text/event-stream")
		if err := h.dress(q, m); err != nil {
			return nil, err
		}
		response, err := h.client.Do(q)
		if err != nil || signedIn || h.r.Auth == nil || response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusForbidden {
			return response, err
		}
		err = h.r.Auth.Authorize(ctx, q, response)
		_ = response.Body.Close()
		if err != nil {
			return nil, err
		}
	}
}

// dress adds the headers of a request; m is nil for one without a message.
func (h *remote) dress(q *http.Request, m *message) error {
	for name, value := range h.r.Headers {
		if name = http.CanonicalHeaderKey(name); name == "Host" {
			q.Host = value
		} else if q.Header.Get(name) == "" && !strings.HasPrefix(name, "Mcp-") {
			q.Header.Set(name, value)
		}
	}
	if h.r.Auth != nil && q.Header.Get("Authorization") == "" {
		source, err := h.r.Auth.TokenSource(q.Context())
		if err != nil {
			return err
		}
		if source != nil {
			if token, err := source.Token(); err != nil {
				return err
			} else if token != nil && token.AccessToken != "" {
				q.Header.Set("Authorization", "Bearer "+token.AccessToken)
			}
		}
	}
	h.mu.Lock()
	session, revision := h.session, h.revision
	h.mu.Unlock()
	if m != nil {
		revision = cmp.Or(text(meta(m, "protocolVersion")), revision)
	}
	if session != "" && (m == nil || m.method != methodInitialize) {
		q.Header.Set("Mcp-Session-Id", session)
	}
	if revision != "" {
		q.Header.Set("Mcp-Protocol-Version", revision)
	}
	if m != nil && revision >= modern && m.method != "" {
		h.mirror(q.Header, m)
	}
	return nil
}

// same reports whether a request may go to u: the address of the server, or the
// same over https.
func (h *remote) same(u *url.URL) bool {
	port := func(u *url.URL) string {
		return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	if !strings.EqualFold(u.Hostname(), h.base.Hostname()) {
		return false
	}
	return u.Scheme == h.base.Scheme && port(u) == port(h.base) || h.base.Scheme == "http" && port(h.base) == "80" && u.Scheme == "https" && port(u) == "443"
}

// tries is how often a stream is requested again without a message in between.
const tries = 5

// stream passes the messages of a response on, and requests the stream again if it
// ends before the response. m is nil for the stream of the server's own messages.
func (h *remote) stream(ctx context.Context, m *message, response *http.Response) {
	last, wait, failures := "", time.Second, 0
	for {
		e := newEvents(response.Body, h.max)
		answered, err := h.events(m, e)
		_ = response.Body.Close()
		if e.id != "" && e.id != last {
			last, failures = e.id, 0
		}
		if e.retry > 0 {
			wait = e.retry
		}
		switch {
		case answered || ctx.Err() != nil:
			return
		case m != nil && errors.Is(err, errTooLarge):
			h.fail(m, err)
			return
		case m != nil && last == "":
			h.fail(m, errors.New("it ended its response early"))
			return
		}
		for response = nil; response == nil; failures++ {
			if failures >= tries {
				if m != nil {
					h.fail(m, errors.New("its response has broken off and cannot be continued"))
				}
				return
			}
			select {
			case <-time.After(wait << min(failures, 5)):
			case <-ctx.Done():
				return
			}
			response = h.get(ctx, last)
		}
	}
}

// events passes the messages of one stream on. It reports whether the response to
// m was among them.
func (h *remote) events(m *message, e *events) (answered bool, err error) {
	for {
		data, err := e.next()
		if err != nil {
			return false, err
		}
		one, wrong := parse(data)
		if wrong == nil && m != nil && one.method == "" && one.key() == m.key() {
			h.note(m, one)
			return true, nil
		}
		h.pass(data) // the gateway reports what is not a message
	}
}

// get requests a stream, from an event on. It returns nil if there is none.
func (h *remote) get(ctx context.Context, last string) *http.Response {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, h.base.String(), nil)
	if err != nil {
		return nil
	}
	q.Header.Set("Accept", "text/event-stream")
	if last != "" {
		q.Header.Set("Last-Event-ID", last)
	}
	if h.dress(q, nil) != nil {
		return nil
	}
	response, err := h.client.Do(q)
	if err != nil {
		return nil
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); response.StatusCode != http.StatusOK || kind != "text/event-stream" {
		_ = response.Body.Close()
		return nil
	}
	return response
}

// listen requests the stream of the server's own messages, which is optional for a
// server.
func (h *remote) listen() {
	h.mu.Lock()
	again := h.listens || h.revision >= modern
	h.listens = true
	h.mu.Unlock()
	if again {
		return
	}
	h.start(func() {
		if response := h.get(h.ctx, ""); response != nil {
			h.stream(h.ctx, nil, response)
		}
	})
}

func (h *remote) finish() {}

// close ends the session at the server.
func (h *remote) close() {
	h.mu.Lock()
	session := h.session
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.running.Wait()
	if session != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), 2*time.Second)
		defer cancel()
		if q, err := http.NewRequestWithContext(ctx, http.MethodDelete, h.base.String(), nil); err == nil && h.dress(q, nil) == nil {
			if response, err := h.client.Do(q); err == nil {
				_ = response.Body.Close()
			}
		}
	}
	h.plain.CloseIdleConnections()
}

func (h *remote) why() *fault.Error {
	return unavailable(h.name, "It does not know the session any more, for example after a restart.", "Connect to it again.", nil)
}

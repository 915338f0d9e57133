package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// errElsewhere is returned for a request that would have gone to an origin other
// than the spec's, together with confidential headers.
var errElsewhere = errors.New("it would have gone to another origin")

// remote is a server at a URL. It is the round tripper of the SDK's transport.
type remote struct {
	spec  mcp.ServerSpec
	kind  mcp.Transport
	base  *url.URL
	max   int
	tap   *tap
	mask  *mcp.Mask
	auth  auth.OAuthHandler // nil: none
	plain *http.Transport

	ctx    context.Context // of all requests
	cancel context.CancelFunc

	mu     sync.Mutex
	conn   sdk.Connection // the SDK's, once created
	status int            // of the last unsuccessful answer; 0: none
	away   string         // the other origin to which a request would have gone
}

// newRemote returns the peer for a server at a URL. It does no I/O. The caller
// must call end.
func (d *Dialer) newRemote(ctx context.Context, spec mcp.ServerSpec, kind mcp.Transport, t *tap, v *mcp.Mask, handler auth.OAuthHandler) (*remote, error) {
	base, err := url.Parse(spec.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" {
		return nil, fault.New(fault.InvalidConfig, "mcp.dial", "The url of the MCP server "+quoted(spec.Name)+" is not an http or https URL.", "Correct url in its settings.")
	}
	base.Fragment = ""
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	r := &remote{spec: spec, kind: kind, base: base, max: d.o.MaxMessage, tap: t, mask: v, auth: handler, plain: &http.Transport{
		Proxy: d.o.Proxy, DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 30 * time.Second,
		IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 256 << 10,
	}}
	for name := range spec.Headers {
		if http.CanonicalHeaderKey(name) == "Authorization" { // a configured header takes precedence over a sign-in
			r.auth = nil
		}
	}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return r, nil
}

func (r *remote) transport() (sdk.Transport, mcp.Transport) { return r, r.kind }

// Connect implements the SDK's transport.
func (r *remote) Connect(ctx context.Context) (sdk.Connection, error) {
	client := &http.Client{Transport: r, CheckRedirect: func(q *http.Request, via []*http.Request) error {
		if len(via) >= 10 {
			return errors.New("it was redirected 10 times")
		}
		return r.check(q.URL)
	}}
	var t sdk.Transport
	if r.kind == mcp.TransportSSE {
		t = &sdk.SSEClientTransport{Endpoint: r.base.String(), HTTPClient: client, MaxEventSize: -1} // limited by the tap instead
		// The SDK reads the stream with this ctx as long as the session lasts.
		detached, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer context.AfterFunc(ctx, stop)()
		context.AfterFunc(r.ctx, stop)
		ctx = detached
	} else {
		t = &sdk.StreamableClientTransport{Endpoint: r.base.String(), HTTPClient: client, MaxEventSize: -1, OAuthHandler: r.auth}
	}
	conn, err := t.Connect(ctx)
	r.mu.Lock()
	r.conn = conn
	r.mu.Unlock()
	return conn, err
}

// RoundTrip implements http.RoundTripper. It refuses requests to another origin,
// whatever redirect or endpoint caused them, adds the spec's headers to each
// request, and limits each answer and passes it through the tap.
func (r *remote) RoundTrip(q *http.Request) (*http.Response, error) {
	r.learn(q.URL)
	if err := r.check(q.URL); err != nil {
		r.tap.settle(q.Context(), true)
		return nil, err
	}
	var id, method string
	if q.Method == http.MethodPost && q.GetBody != nil {
		if body, err := q.GetBody(); err == nil {
			text, _ := io.ReadAll(body)
			id, method = r.tap.sent(q.Context(), text)
		}
	}
	response, err := r.send(q)
	if err == nil && r.kind == mcp.TransportSSE && r.auth != nil && (response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden) {
		if err := r.auth.Authorize(q.Context(), q, response); err != nil {
			r.note(response.StatusCode)
			return nil, err
		}
		if q.GetBody != nil {
			if q.Body, err = q.GetBody(); err != nil {
				return nil, err
			}
		}
		response, err = r.send(q)
	}
	r.tap.delivered(method)
	if q.Method == http.MethodPost {
		r.tap.settle(q.Context(), isDeclined(response, err))
	}
	if err != nil {
		return nil, err
	}
	r.mask.Learn(response.Header.Get("Mcp-Session-Id"))
	switch stream := q.Method == http.MethodGet && r.kind == mcp.TransportHTTP; { // which is optional for a server
	case response.StatusCode >= 400 && !stream:
		r.note(response.StatusCode)
		if response.StatusCode == http.StatusNotFound && q.Header.Get("Mcp-Session-Id") != "" {
			r.tap.refuse(q.Context())
		}
	case q.Method == http.MethodPost:
		r.note(0)
	}
	if err := r.look(response, id); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// isDeclined reports whether the outcome of a request means that the server did not take it: no
// connection, a redirection, or a status of the client's mistakes. Any other status may come from a gateway.
func isDeclined(response *http.Response, err error) bool {
	if err == nil {
		return response.StatusCode >= 300 && response.StatusCode < 500
	}
	var operation *net.OpError
	return errors.As(err, &operation) && (operation.Op == "dial" || operation.Op == "proxyconnect")
}

func (r *remote) note(status int) {
	r.mu.Lock()
	r.status = status
	r.mu.Unlock()
}

// send sends a request that may last as long as the session.
func (r *remote) send(q *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(q.Context())
	stop := context.AfterFunc(r.ctx, cancel)
	q = q.Clone(ctx)
	if err := r.dress(q); err != nil {
		stop()
		cancel()
		return nil, err
	}
	done := func() { stop(); cancel() }
	response, err := r.plain.RoundTrip(q)
	if err != nil {
		done()
		return nil, err
	}
	response.Body = &body{response.Body, response.Body, done}
	return response, nil
}

// dress adds the spec's headers, and the token where the SDK does not.
func (r *remote) dress(q *http.Request) error {
	for name, value := range r.spec.Headers {
		switch name = http.CanonicalHeaderKey(name); {
		case name == "Host":
			q.Host = value
		case name == "Accept" || name == "Content-Type" || strings.HasPrefix(name, "Mcp-") || name == "Last-Event-Id": // the protocol's own
		default:
			q.Header.Set(name, value)
		}
	}
	if r.kind != mcp.TransportSSE || r.auth == nil {
		return nil
	}
	source, err := r.auth.TokenSource(q.Context())
	if err != nil || source == nil {
		return err
	}
	token, err := source.Token()
	if err != nil || token == nil || token.AccessToken == "" {
		return nil //nolint:nilerr // the server refuses, and the person signs in
	}
	if r.spec.OAuth != nil && r.spec.OAuth.TokenParamName != "" {
		query := q.URL.Query()
		query.Set(r.spec.OAuth.TokenParamName, token.AccessToken)
		q.URL.RawQuery = query.Encode()
		return nil
	}
	q.Header.Set("Authorization", "Bearer "+token.AccessToken)
	return nil
}

// check returns an error unless a request may go to u: the origin of the spec's
// URL, or the same over https.
func (r *remote) check(u *url.URL) error {
	same := strings.EqualFold(u.Hostname(), r.base.Hostname())
	switch {
	case same && u.Scheme == r.base.Scheme && port(u) == port(r.base):
		return nil
	case same && r.base.Scheme == "http" && port(r.base) == "80" && u.Scheme == "https" && port(u) == "443":
		return nil
	}
	r.mu.Lock()
	r.away = u.Scheme + "://" + u.Host
	r.mu.Unlock()
	return errElsewhere
}

// learn masks the session ID in the address of an SSE server's endpoint.
func (r *remote) learn(u *url.URL) {
	if u.RawQuery == r.base.RawQuery {
		return
	}
	for _, values := range u.Query() {
		for _, value := range values {
			r.mask.Learn(value)
		}
	}
}

func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// look passes a response body through the tap, as a whole or event by event.
func (r *remote) look(response *http.Response, id string) error {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	b := response.Body.(*body) //nolint:errcheck // send has made it
	if kind == "text/event-stream" && response.StatusCode < 300 {
		b.Reader = newEvents(b.Reader, r.max, id, r.tap)
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(b.Reader, int64(r.max)+1))
	switch {
	case err != nil:
		return err
	case len(text) > r.max && id == "":
		return errTooLarge
	case len(text) > r.max:
		text = tooLarge(id)
	case kind == "application/json" && response.StatusCode < 300 && len(bytes.TrimSpace(text)) > 0:
		text = r.tap.received(text)
	}
	b.Reader = bytes.NewReader(text)
	response.ContentLength = int64(len(text))
	response.Header.Del("Content-Length")
	return nil
}

// tooLarge returns the answer that replaces one larger than the limit.
func tooLarge(id string) []byte {
	return encode(envelope{
		Version: []byte(`"2.0"`), ID: []byte(id),
		Error: encode(map[string]any{"code": codeTooLarge, "message": errTooLarge.Error()}),
	})
}

// body is a response's body.
type body struct {
	io.Reader
	under io.Closer
	done  func()
}

func (b *body) Close() error {
	err := b.under.Close()
	b.done()
	return err
}

// gone returns nil: whether a server at a URL is alive shows on the next request.
func (r *remote) gone() <-chan struct{} { return nil }

// cut cancels all requests.
func (r *remote) cut() { r.cancel() }

// end cancels all requests and releases the connections.
func (r *remote) end() {
	r.cancel()
	r.mu.Lock()
	conn := r.conn
	r.mu.Unlock()
	if conn != nil {
		_ = conn.Close() // there is nothing left to send; ends the SDK's goroutines
	}
	r.plain.CloseIdleConnections()
}

func (r *remote) lastLines() []string { return nil }

// refused reports whether the answer is that of a server that does not support
// streamable HTTP.
func (r *remote) refused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status == http.StatusNotFound || r.status == http.StatusMethodNotAllowed || r.status == http.StatusBadRequest
}

// signIn reports whether the server requires a sign-in.
func (r *remote) signIn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status == http.StatusUnauthorized || r.status == http.StatusForbidden
}

func (r *remote) why(err error) (what, remedy string) {
	r.mu.Lock()
	status, away := r.status, r.away
	r.mu.Unlock()
	var broken *url.Error
	var operation *net.OpError
	switch {
	case errors.Is(err, errElsewhere):
		return "It redirects requests to " + quoted(away) + ", a different origin than that of its URL, so they are not sent.",
			"If that is its new address, set it as url in its settings."
	case errors.Is(err, sdk.ErrSessionMissing):
		return "It does not know the session any more, for example after a restart.", "Connect again."
	case errors.As(err, &operation):
		return "It cannot be reached: " + operation.Err.Error() + ".", "Check that it runs at that address, and the proxy settings."
	case errors.Is(err, errTooLarge):
		return "It sent a message that is larger than the limit.", "Request less at once."
	case status >= 400:
		return "It answered with the HTTP status " + statusText(status) + ".", "Check its url and headers in the settings."
	case errors.As(err, &broken):
		return "The request failed: " + words(r.mask, broken.Err.Error()) + ".", "Check that it runs at that address."
	}
	return "", ""
}

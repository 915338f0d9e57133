package websearch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/redact"
)

// Transport says how a search service is reached. Every field may be zero. The
// address is the configuration's, not a model's, so it may be private.
type Transport struct {
	// Timeout ends one search. Zero: 30 seconds.
	Timeout time.Duration
	// MaxBytes is how large an answer may be. Zero: 4 MiB.
	MaxBytes int64
	// UserAgent is the header of that name. "": fettle.
	UserAgent string
	// Proxy returns the proxy for a request, or nil for none. nil: no proxy.
	Proxy func(*http.Request) (*url.URL, error)
}

// client makes requests to one service. It follows no redirect, which would
// carry the key to another host, and no error of it holds a secret.
type client struct {
	o         Transport
	transport *http.Transport
	secret    *strings.Replacer // masks the secret; nil: none
}

func newClient(o Transport, secret string) *client {
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.MaxBytes = cmp.Or(o.MaxBytes, 4<<20)
	o.UserAgent = cmp.Or(o.UserAgent, "fettle")
	return &client{o: o, secret: redact.Replacer([]string{secret}, 1), transport: &http.Transport{
		Proxy: o.Proxy, ForceAttemptHTTP2: true, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 256 << 10,
	}}
}

const op = "websearch.search"

// failed returns the error of a search. The cause is told in words alone, as it
// may hold a secret. What the message quotes of a service went through quote.
func (c *client) failed(message, remedy string) *fault.Error {
	return fault.New(fault.WebSearchFailed, op, c.hide(message), remedy)
}

// hide masks the secret in a text, which a service may repeat.
func (c *client) hide(text string) string {
	if c.secret == nil {
		return text
	}
	return c.secret.Replace(text)
}

// quote makes text that a service has a part in fit for a message: one line of
// printable characters, and not many. A secret is out of it before it is
// shortened, lest a part of it remain.
func (c *client) quote(text string) string { return escape.Clip(escape.Line(c.hide(text)), 300) }

// Remedies that fit more than one failure.
const (
	tryLater = "Try again later, or go on without a search."
	settings = "Ask the user to correct the settings of the web search."
)

// do sends a request and returns the body of its answer, which was a success.
// explain finds the service's own message in the body of another one.
func (c *client) do(ctx context.Context, method, address string, header http.Header, body []byte, explain func(body []byte) string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, errTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, c.failed("The request to the search service cannot be made: "+c.quote(err.Error())+".", settings)
	}
	q.Header = header.Clone()
	if q.Header.Get("User-Agent") == "" {
		q.Header.Set("User-Agent", c.o.UserAgent)
	}
	if host := header.Get("Host"); host != "" {
		q.Host = host
	}
	res, err := c.transport.RoundTrip(q)
	if err != nil {
		return nil, c.ended(ctx, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, c.o.MaxBytes+1))
	switch {
	case int64(len(data)) > c.o.MaxBytes:
		return nil, c.failed(fmt.Sprintf("The search service answered with more than %d bytes.", c.o.MaxBytes), settings)
	case err != nil:
		return nil, c.ended(ctx, err)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, c.refused(res.StatusCode, explain(data))
	}
	return data, nil
}

var errTimeout = errors.New("the time of the search is over")

// ended says why a request got no answer.
func (c *client) ended(ctx context.Context, err error) *fault.Error {
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return c.failed(fmt.Sprintf("The search service did not answer within %v.", c.o.Timeout), tryLater)
	case ctx.Err() != nil:
		return fault.New(fault.Cancelled, op, "The search was cancelled.", "")
	}
	return c.failed("The search service cannot be reached: "+c.quote(err.Error())+".", tryLater)
}

// refused says that the service answered with an error, in its words if it has
// any.
func (c *client) refused(status int, words string) *fault.Error {
	message := fmt.Sprintf("The search service answered with status %d", status)
	if text := http.StatusText(status); text != "" {
		message += " " + text
	}
	if words = c.quote(words); words != "" {
		message += ": " + strings.TrimSuffix(words, ".")
	}
	remedy := settings
	if status == http.StatusTooManyRequests || status >= 500 {
		remedy = tryLater
	}
	return c.failed(message+".", remedy)
}

// Close closes the connections that are idle. A search that runs goes on, and
// further ones are possible. It always returns nil.
func (c *client) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}

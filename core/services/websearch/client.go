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

// Transport configures the connection to a search service. Every field may be zero. The address
// comes from the configuration, not from a model, so it may be private.
type Transport struct {
	// Timeout limits one search. Zero: 30 seconds.
	Timeout time.Duration
	// MaxBytes is the limit of a response. Zero: 4 MiB.
	MaxBytes int64
	// UserAgent is the User-Agent header. "": fettle.
	UserAgent string
	// Proxy returns the proxy of a request, or nil for a direct connection. nil: no proxy.
	Proxy func(*http.Request) (*url.URL, error)
}

// client sends requests to one service. It follows no redirect, because that would send the key to
// another host. None of its errors contains a secret.
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

// failed returns the error of a search. It includes the text of the cause but does not wrap it,
// because a cause may contain a secret. Quotations of a service must pass through quote.
func (c *client) failed(message, remedy string) *fault.Error {
	return fault.New(fault.WebSearchFailed, op, c.hide(message), remedy)
}

// hide masks the secret in a text, because a service may repeat it.
func (c *client) hide(text string) string {
	if c.secret == nil {
		return text
	}
	return c.secret.Replace(text)
}

// quote prepares text of a service for a message: one short line of printable characters. It masks
// the secret before it truncates, so that no part of a secret remains.
func (c *client) quote(text string) string { return escape.Clip(escape.Line(c.hide(text)), 300) }

// Remedies of several errors.
const (
	tryLater = "Try again later, or continue without a search."
	settings = "Ask the user to correct the settings of the web search."
)

// do sends a request and returns the body of a response with success. For another status, explain
// extracts the message of the service from the body.
func (c *client) do(ctx context.Context, method, address string, header http.Header, body []byte, explain func(body []byte) string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, errTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, c.failed("The request to the search service is invalid: "+c.quote(err.Error())+".", settings)
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
		return nil, c.failed(fmt.Sprintf("The response of the search service has more than %d bytes.", c.o.MaxBytes), settings)
	case err != nil:
		return nil, c.ended(ctx, err)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, c.refused(res.StatusCode, explain(data))
	}
	return data, nil
}

var errTimeout = errors.New("the search exceeded its time limit")

// ended returns the error of a request without a response.
func (c *client) ended(ctx context.Context, err error) *fault.Error {
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return c.failed(fmt.Sprintf("The search service did not respond within %v.", c.o.Timeout), tryLater)
	case ctx.Err() != nil:
		return fault.New(fault.Cancelled, op, "The search was cancelled.", "")
	}
	return c.failed("The search service cannot be reached: "+c.quote(err.Error())+".", tryLater)
}

// refused returns the error of a response without success, with the message of the service if there
// is one.
func (c *client) refused(status int, words string) *fault.Error {
	message := fmt.Sprintf("The search service responded with status %d", status)
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

// Close closes the idle connections. Running searches continue, and further ones are possible. It
// always returns nil.
func (c *client) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}

// Package wire sits between the client of a provider, which may be an SDK, and the network. It
// decodes the response itself and keeps the data that SDKs discard: status, headers, errors, the way
// the response ended, and every digit of its numbers.
package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// maxProblem is the number of bytes of an error response that are read.
const maxProblem = 64 << 10

// Exchange is one request and its response. The fields above the line are set before the request.
// The fields below it are valid once the SDK call has returned, or its stream has ended. An
// Exchange is not safe for concurrent use.
type Exchange struct {
	Stream  bool                         // the response is requested as a stream of events
	Request func([]byte) ([]byte, error) // edits the JSON of the request; nil: it stays
	Event   func([]byte) error           // receives each event of the response as a JSON object; a response that is not a stream is one event

	// ----

	Status  int         // HTTP status; 0: no response was received
	Header  http.Header // headers of the response
	Problem []byte      // body of an error response; nil: none
	Done    bool        // the stream ended with [DONE]
	Events  int         // number of events received
	Err     error       // why the request or its response broke off; nil: it did not
}

type exchangeKey struct{}

// In returns a context that assigns its request through [Client] to this exchange.
func (x *Exchange) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// Client returns a client that fills the [Exchange] of each request. It has the transport of base,
// which may be nil. It has no timeout, since a response may take long and ctx ends it, and no
// cookies. It follows no redirect: the key must not be sent to another address.
func Client(base *http.Client) *http.Client {
	t := transport{http.DefaultTransport}
	if base != nil && base.Transport != nil {
		t.base = base.Transport
	}
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type transport struct{ base http.RoundTripper }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*Exchange)
	if !ok {
		return nil, errors.New("the request has no exchange")
	}
	req, err := x.edit(req)
	if err != nil {
		x.Err = err
		return nil, err
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		x.Err = err
		return nil, err
	}
	x.Status, x.Header = resp.StatusCode, resp.Header
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		// After a read error the bytes so far are sufficient.
		x.Problem, _ = io.ReadAll(io.LimitReader(resp.Body, maxProblem))
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(x.Problem))
		return resp, nil
	}
	resp.Body = newBody(x, resp.Body)
	resp.ContentLength = -1
	return resp, nil
}

// edit returns req with the body that Request returns for the original one.
func (x *Exchange) edit(req *http.Request) (*http.Request, error) {
	if x.Request == nil || req.Body == nil {
		return req, nil
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, err
	}
	if body, err = x.Request(body); err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
	return req, nil
}

// BaseURL checks the address of a server. It returns the address without a trailing slash, and the
// password in it. The error is of code invalid_config and names who and variable.
func BaseURL(text, who, variable string) (base, password string, err error) {
	text = strings.TrimSpace(text)
	u, parseErr := url.Parse(text)
	if parseErr != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", "", fault.New(fault.InvalidConfig, "model.new", fmt.Sprintf("The base URL for %s models is not an HTTP address.", who),
			fmt.Sprintf("Give it as https://HOST; the program reads it from %s.", variable))
	}
	password, _ = u.User.Password()
	return strings.TrimRight(text, "/"), password, nil
}

// Package wire stands between the SDK of a provider and the network. It reads the
// answer in the SDK's place and keeps what SDKs throw away: status, headers and
// errors, how the answer ended, and every digit of it.
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

// maxProblem is how much of an answer is read that tells an error.
const maxProblem = 64 << 10

// Exchange is one request and what came back for it. The fields above the line
// are set before the request; those below are valid once the SDK has returned, of
// a stream once it has ended. It is not safe for concurrent use.
type Exchange struct {
	Stream  bool                         // the answer is asked for as a stream of events
	Request func([]byte) ([]byte, error) // edits the JSON of the request; nil: it stays
	Event   func([]byte) error           // takes each event of the answer, or all of it if it is no stream, a JSON object

	// ----

	Status  int         // of HTTP; 0: no answer came
	Header  http.Header // of the answer
	Problem []byte      // what the server said instead of an answer; nil: nothing
	Done    bool        // the stream said that it is complete, by [DONE]
	Events  int         // how many have come
	Err     error       // why the request or its answer broke off; nil: it did not
}

type exchangeKey struct{}

// In returns a context whose request through [Client] is this exchange.
func (x *Exchange) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// Client returns a client that fills the [Exchange] of each request. It has the
// transport of base, which may be nil, and neither its timeout, since an answer
// may take long and its ctx ends it, nor cookies. It follows no redirect: the key
// is not meant for another place.
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
		return nil, errors.New("a request without an exchange")
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
		// An error of reading leaves what has come, which is enough.
		x.Problem, _ = io.ReadAll(io.LimitReader(resp.Body, maxProblem))
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(x.Problem))
		return resp, nil
	}
	resp.Body = newBody(x, resp.Body)
	resp.ContentLength = -1
	return resp, nil
}

// edit returns req with the body that Request makes of its own.
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

// BaseURL checks the address of a server and returns it without a slash at its
// end, and the password in it. The error is of code invalid_config; who and
// variable stand in it.
func BaseURL(text, who, variable string) (base, password string, err error) {
	text = strings.TrimSpace(text)
	u, parseErr := url.Parse(text)
	if parseErr != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", "", fault.New(fault.InvalidConfig, "model.new", fmt.Sprintf("The base URL for %s models is no HTTP address.", who),
			fmt.Sprintf("Give it as https://HOST, in %s for the program.", variable))
	}
	password, _ = u.User.Password()
	return strings.TrimRight(text, "/"), password, nil
}

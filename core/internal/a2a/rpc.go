package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// maxAnswer is the largest size of one response, or of one event of a stream, in bytes.
const maxAnswer = 8 << 20

// maxRedirects is the limit on redirects of a card.
const maxRedirects = 5

// connection is an agent at its endpoint, for one call.
type connection struct {
	*party
	at   *url.URL
	auth *credentials
}

// rpcError is a JSON-RPC error response.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("JSON-RPC error %d", e.Code) }

// The error codes that are handled separately.
const (
	codeNoMethod    = -32601
	codeNoTask      = -32001
	codeUnsupported = -32004
)

type request struct {
	JSONRPC string `json:"jsonrpc"`
	ID      string `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

type response struct {
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// do sends a request. It does not send credentials to a different host, and does not follow a
// redirect of a POST.
func (r *remote) do(ctx context.Context, req *http.Request, c *credentials) (*http.Response, error) {
	transport := r.service.open
	if !r.private {
		transport = r.service.guarded
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects || via[0].Method != http.MethodGet {
			return http.ErrUseLastResponse
		}
		if _, err := parseURL(next.URL.String()); err != nil {
			return http.ErrUseLastResponse
		}
		if next.URL.Host != via[0].URL.Host || next.URL.Scheme != via[0].URL.Scheme {
			c.remove(next)
		}
		return nil
	}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, r.incomplete(ctx, req.URL, err)
	}
	return resp, nil
}

// incomplete returns the error of a request without a complete response. Its text contains no query of
// the URL.
func (r *remote) incomplete(ctx context.Context, u *url.URL, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errPrivate) {
		return r.fail(fmt.Sprintf("was not called: %s is at a private or loopback address", u.Host),
			"Move the agent to your own agents, or allow the address, if this is intended.", nil).Because(fault.PrivateAddress)
	}
	if e := new(url.Error); errors.As(err, &e) {
		err = e.Err
	}
	return r.fail(fmt.Sprintf("was not reached at %s: %s", shown(u), escape.Clip(escape.Line(err.Error()), 200)), "Check that it runs, and try again.", nil)
}

func (r *remote) unauthorized(status int) *fault.Error {
	remedy := "Add auth to its definition."
	if r.d.Remote.Auth != nil {
		remedy = "Check the values of auth in its definition."
	}
	return r.fail(fmt.Sprintf("denied access (HTTP status %d)", status), remedy, nil)
}

// post sends a request and returns its response, which has status 200.
func (c *connection) post(ctx context.Context, method string, params any, accept string) (*http.Response, error) {
	body, err := json.Marshal(request{"2.0", bus.NewID(), method, params})
	if err != nil {
		return nil, err
	}
	for again := true; ; again = false {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.at.String(), bytes.NewReader(body))
		if err != nil {
			return nil, c.fail("has an endpoint whose URL cannot be used", "", nil)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", accept)
		c.auth.set(req)
		resp, err := c.do(ctx, req, c.auth)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusOK {
			return resp, nil
		}
		err = c.refused(resp)
		resp.Body.Close()
		closed := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
		if !again || !closed || !c.hasCommand() {
			return nil, err
		}
		if c.auth, err = c.resolve(ctx); err != nil {
			return nil, err
		}
	}
}

// refused returns the error of a response with another status. Only a JSON-RPC error in its body is
// read.
func (c *connection) refused(resp *http.Response) error {
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return c.unauthorized(resp.StatusCode)
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return c.fail(fmt.Sprintf("redirects calls (HTTP status %d), and redirects are not followed", resp.StatusCode), "Set the final URL in its definition.", nil)
	}
	var answer response
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err == nil && json.Unmarshal(data, &answer) == nil && answer.Error != nil {
		return c.serverError(answer.Error)
	}
	return c.fail(fmt.Sprintf("answered with HTTP status %d", resp.StatusCode), "Try again later.", nil)
}

// serverError returns the message of a server error, without secrets.
func (c *connection) serverError(e *rpcError) *fault.Error {
	return c.fail(fmt.Sprintf("answered with the error %d: %s", e.Code, escape.Clip(escape.Line(c.auth.redacted(e.Message)), 300)), "", e)
}

// call sends a request and returns its immediate result.
func (c *connection) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	resp, err := c.post(ctx, method, params, "application/json")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return c.single(ctx, resp)
}

// single decodes a response that is not a stream.
func (c *connection) single(ctx context.Context, resp *http.Response) (json.RawMessage, error) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, c.incomplete(ctx, c.at, err)
	}
	if len(data) > maxAnswer {
		return nil, c.fail(fmt.Sprintf("gave an answer of more than %d MiB, which was not read", maxAnswer>>20), "", nil)
	}
	return c.result(data)
}

// result returns the result of a JSON-RPC response.
func (c *connection) result(data []byte) (json.RawMessage, error) {
	var answer response
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, c.fail("gave an answer that is not valid JSON-RPC", "Check that its endpoint speaks A2A.", nil)
	}
	switch {
	case answer.Error != nil:
		return nil, c.serverError(answer.Error)
	case len(answer.Result) == 0:
		return nil, c.fail("gave an answer with neither result nor error", "", nil)
	}
	return answer.Result, nil
}

// streams reports whether a response is a stream of events.
func streams(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == "text/event-stream"
}

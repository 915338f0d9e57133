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

// maxAnswer is how long one answer, or one event of a stream, may be, in bytes.
const maxAnswer = 8 << 20

// maxRedirects is how often a card may be elsewhere.
const maxRedirects = 5

// connection is an agent at its endpoint, for one call.
type connection struct {
	*party
	at   *url.URL
	auth *credentials
}

// rpcError is an error that the agent's server answers with.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("JSON-RPC error %d", e.Code) }

// The codes that are told apart.
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

// do sends a request. Credentials do not go to another host, and what is posted
// is not sent on.
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
			c.off(next)
		}
		return nil
	}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, r.broken(ctx, req.URL, err)
	}
	return resp, nil
}

// broken is the error of a request that got no whole answer. Its text has no
// query of the URL.
func (r *remote) broken(ctx context.Context, u *url.URL, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errPrivate) {
		return r.fail(fmt.Sprintf("was not called: %s is at a private or loopback address", u.Host),
			"Put the agent among your own, or allow the address, if it is meant.", nil).Because(fault.PrivateAddress)
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
	return r.fail(fmt.Sprintf("does not let us in (HTTP status %d)", status), remedy, nil)
}

// post makes a request and returns its response, of status 200.
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
		c.auth.on(req)
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

// refused is the error of a response of another status, of which only a JSON-RPC
// error is read.
func (c *connection) refused(resp *http.Response) error {
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return c.unauthorized(resp.StatusCode)
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return c.fail(fmt.Sprintf("sends calls elsewhere (HTTP status %d), where they are not sent", resp.StatusCode), "Give the URL at which it answers itself.", nil)
	}
	var answer response
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err == nil && json.Unmarshal(data, &answer) == nil && answer.Error != nil {
		return c.said(answer.Error)
	}
	return c.fail(fmt.Sprintf("answered with HTTP status %d", resp.StatusCode), "Try again later.", nil)
}

// said is an error in the server's words, without secrets.
func (c *connection) said(e *rpcError) *fault.Error {
	return c.fail(fmt.Sprintf("answered with the error %d: %s", e.Code, escape.Clip(escape.Line(c.auth.redacted(e.Message)), 300)), "", e)
}

// call makes a request that is answered at once.
func (c *connection) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	resp, err := c.post(ctx, method, params, "application/json")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return c.single(ctx, resp)
}

// single reads the answer of a response that is no stream.
func (c *connection) single(ctx context.Context, resp *http.Response) (json.RawMessage, error) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, c.broken(ctx, c.at, err)
	}
	if len(data) > maxAnswer {
		return nil, c.fail(fmt.Sprintf("gave an answer of more than %d MiB, which was not read", maxAnswer>>20), "", nil)
	}
	return c.result(data)
}

// result takes the result out of a JSON-RPC answer.
func (c *connection) result(data []byte) (json.RawMessage, error) {
	var answer response
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, c.fail("gave an answer that is no JSON-RPC", "Check that its endpoint speaks A2A.", nil)
	}
	switch {
	case answer.Error != nil:
		return nil, c.said(answer.Error)
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

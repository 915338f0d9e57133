// Package anthropic implements model.Generator for the models of Anthropic and for servers with the
// same Messages API.
package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// Provider is the provider name in the parts and errors of this package.
const Provider = "anthropic"

// DefaultModel is the model of a request without a name.
const DefaultModel = "claude-sonnet-5-5"

const (
	publicAPI  = "https://api.anthropic.com"
	apiVersion = "v1"
	apiDate    = "2023-06-01" // the version of the API's form, in a header
)

// Options configures the generator of [New]. The environment is not read.
type Options struct {
	APIKey     string       // required by the public API; "": none is sent, e.g. to a local server
	BaseURL    string       // e.g. "http://127.0.0.1:8080", without /v1; "": the public API
	HTTPClient *http.Client // nil: a client without a timeout, since a response may take long; redirects are never followed
}

// generator sends requests over the Messages API. It is safe for concurrent use. Each request is
// sent once, and no redirect is followed; retries are up to the caller.
type generator struct {
	base    string // address with the version, with a trailing slash
	client  *http.Client
	secrets func() credentials // a func, so that printing a generator does not print its key
}

// credentials are the secrets of a generator.
type credentials struct {
	key string // "": none is sent
	all wire.Secrets
}

var _ model.Generator = (*generator)(nil)

// New returns a generator that is safe for concurrent use. It does no I/O. It fails with code invalid_config if BaseURL is not an
// HTTP address, or if the public API is used without a key.
func New(o Options) (model.Generator, error) {
	key := strings.TrimSpace(o.APIKey)
	if key == "" && strings.TrimSpace(o.BaseURL) == "" {
		return nil, fault.New(fault.InvalidConfig, "model.anthropic", "There is no key for Anthropic's models.",
			"Run fettle setup, or set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL to a server that needs no key, or use another model.")
	}
	base, password, err := wire.BaseURL(cmp.Or(strings.TrimSpace(o.BaseURL), publicAPI), "Anthropic's", "ANTHROPIC_BASE_URL")
	if err != nil {
		return nil, err
	}
	client := wire.Client(o.HTTPClient)
	if o.HTTPClient != nil {
		client.Timeout, client.Jar = o.HTTPClient.Timeout, o.HTTPClient.Jar
	}
	secrets := credentials{key, wire.Secrets{key, password}}
	return &generator{
		base:    strings.TrimSuffix(base, "/"+apiVersion) + "/" + apiVersion + "/",
		client:  client,
		secrets: func() credentials { return secrets },
	}, nil
}

// Generate returns the complete response. It streams internally, because the API requires streaming
// for long responses.
func (g *generator) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(g.Stream(ctx, r))
}

// send sends a request and returns the body of its response. Reading the body passes the events to
// x. q is nil for a request without a body. The error is a *model.Error.
func (g *generator) send(ctx context.Context, x *wire.Exchange, method, path string, q *request) (io.ReadCloser, error) {
	var body io.Reader
	if q != nil {
		raw, err := json.Marshal(q)
		if err != nil {
			return nil, invalidRequest("the request cannot be written as JSON", nil)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(x.In(ctx), method, g.base+path, body)
	if err != nil {
		return nil, invalidRequest("the address of the model is not valid", nil)
	}
	req.Header.Set("Anthropic-Version", apiDate)
	if q != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	if x.Stream {
		req.Header.Set("Accept", eventStream)
	}
	if key := g.secrets().key; key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return nil, g.failure(ctx, x, err, false)
	}
	return resp.Body, nil
}

// failure returns the error of an exchange; nil if its response is complete. The status of a
// success is not part of an error.
func (g *generator) failure(ctx context.Context, x *wire.Exchange, err error, complete bool) error {
	failed := x.Failure(ctx, Provider, err, complete, g.secrets().all, problem)
	var e *model.Error
	if errors.As(failed, &e) && e.Status < http.StatusMultipleChoices {
		e.Status = 0
	}
	return failed
}

// ask sends a request whose response is one JSON value, which it decodes into v. It returns the
// HTTP status; 0 without a response.
func (g *generator) ask(ctx context.Context, method, path string, q *request, v any) (status int, err error) {
	x := &wire.Exchange{Event: func(raw []byte) error { return json.Unmarshal(raw, v) }}
	body, err := g.send(ctx, x, method, path, q)
	if err == nil {
		defer body.Close() //nolint:errcheck // the response is complete, or its error is returned
		_, err = io.Copy(io.Discard, body)
		err = g.failure(ctx, x, err, x.Events > 0)
	}
	return x.Status, err
}

// Stream returns the response as it arrives. A call arrives in one chunk, after its last byte. The
// signature of a thought follows its text in a separate part. A response that ends early is an
// error of kind connection.
func (g *generator) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		q, forced, err := query(r)
		if err != nil {
			yield(nil, err)
			return
		}
		q.Stream = true
		answer := answer{asText: forced}
		x := &wire.Exchange{Stream: true, Event: answer.take}
		body, err := g.send(ctx, x, http.MethodPost, "messages", q)
		if err != nil {
			yield(nil, err)
			return
		}
		defer body.Close()               //nolint:errcheck // the response is complete, or its error is returned
		for err == nil && !answer.done { // each read ends with an event
			_, err = body.Read(make([]byte, 512))
			if !answer.chunks.Yield(yield) {
				return
			}
		}
		if answer.done {
			return
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		err = g.failure(ctx, x, err, false)
		switch {
		case ctx.Err() != nil:
		case answer.fault != nil:
			err = answer.fault
		case x.Problem == nil && !isStream(x.Header):
			err = badAnswer("the server did not answer with a stream of events; the base URL may be wrong")
		}
		yield(nil, err)
	}
}

// eventStream is the content type of a stream of events.
const eventStream = "text/event-stream"

// isStream reports whether a response has the content type of a stream of events.
func isStream(header http.Header) bool {
	return strings.HasPrefix(strings.ToLower(header.Get("Content-Type")), eventStream)
}

// CountTokens returns the API's token count of a request. If the server does not have the endpoint,
// it returns an estimate.
func (g *generator) CountTokens(ctx context.Context, r *model.Request) (int, error) {
	q, _, err := query(r)
	if err != nil {
		return 0, err
	}
	var count struct {
		InputTokens wire.Count `json:"input_tokens"`
	}
	status, err := g.ask(ctx, http.MethodPost, "messages/count_tokens", q.counted(), &count)
	switch {
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusNotImplemented:
		return model.EstimateTokens(r), nil
	case err != nil:
		return 0, err
	case count.InputTokens == 0:
		return model.EstimateTokens(r), nil
	}
	return int(count.InputTokens), nil
}

// ModelNames returns the names of the models that the server has, in its order.
func (g *generator) ModelNames(ctx context.Context) ([]string, error) {
	var names []string
	for after := ""; ; {
		var page struct {
			Data []struct {
				ID wire.Text `json:"id"`
			} `json:"data"`
			HasMore bool      `json:"has_more"`
			LastID  wire.Text `json:"last_id"`
		}
		path := "models?limit=1000"
		if after != "" {
			path += "&after_id=" + url.QueryEscape(after)
		}
		if _, err := g.ask(ctx, http.MethodGet, path, nil, &page); err != nil {
			return nil, err
		}
		for _, m := range page.Data {
			names = append(names, string(m.ID))
		}
		last := string(page.LastID)
		if !page.HasMore || last == "" || last == after {
			return names, nil
		}
		after = last
	}
}

// Package openai implements model.Generator for the models of OpenAI and for the many servers with
// a similar chat completions API.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// Provider is the provider name in the errors of this package.
const Provider = "openai"

// DefaultModel is the model of a request without a name.
const DefaultModel = "gpt-5"

// publicAPI is the address of OpenAI's own API.
const publicAPI = "https://api.openai.com/v1"

// Options configures the generator of [New]. The environment is not read.
type Options struct {
	APIKey     string       // required by the public API; "": none is sent, e.g. to a local server
	BaseURL    string       // e.g. "http://127.0.0.1:8080/v1", with the version; "": the public API
	HTTPClient *http.Client // only its transport is used; nil: http.DefaultTransport
}

// generator sends requests over the chat completions API. It is safe for concurrent use. Each
// request is sent once, follows no redirect and is limited in time only by its ctx. One exception:
// if a server rejects a field that other servers require, the request is sent again without it, and
// all later requests omit it.
type generator struct {
	client  *sdk.Client
	public  bool // the server is OpenAI's own API
	secrets wire.Secrets

	noStreamOptions atomic.Bool  // the server rejects stream_options
	limit           atomic.Int32 // the field for the length limit that the server accepts
}

var _ model.Generator = (*generator)(nil)

// New returns a generator that is safe for concurrent use. It does no I/O. It fails with code invalid_config if BaseURL is not an
// HTTP address, or if the public API is used without a key.
func New(o Options) (model.Generator, error) {
	key := strings.TrimSpace(o.APIKey)
	public := o.BaseURL == "" || strings.HasPrefix(o.BaseURL, "https://api.openai.com")
	if key == "" && public {
		return nil, fault.New(fault.InvalidConfig, "model.openai", "There is no key for OpenAI's models.",
			"Run fettle setup, or set OPENAI_API_KEY, or OPENAI_BASE_URL to a server that needs no key, or use another model.")
	}
	o.BaseURL = cmp.Or(o.BaseURL, publicAPI)
	base, password, err := wire.BaseURL(o.BaseURL, "OpenAI's", "OPENAI_BASE_URL")
	if err != nil {
		return nil, err
	}
	config := sdk.DefaultConfig(key)
	config.BaseURL = base
	config.HTTPClient = wire.Client(o.HTTPClient)
	return &generator{
		client: sdk.NewClientWithConfig(config), public: public,
		secrets: wire.Secrets{key, password},
	}, nil
}

// Generate returns the complete response.
func (g *generator) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	for {
		q, err := g.query(r, false)
		if err != nil {
			return nil, err
		}
		var a answer
		x := &wire.Exchange{Request: q.edit, Event: a.take}
		_, err = g.client.CreateChatCompletion(x.In(ctx), q.ChatCompletionRequest)
		if g.adjust(q, x) {
			continue
		}
		a.end()
		if err := g.failure(ctx, x, err, &a); err != nil {
			return nil, err
		}
		return a.chunks.Response(), nil
	}
}

// Stream returns the response as it arrives, with the calls at its end. A response without a finish
// reason is an error of kind connection if [DONE] is missing, or if a call has invalid arguments. A
// server that does not stream is supported, too.
func (g *generator) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		for g.stream(ctx, r, yield) {
		}
	}
}

// stream sends the request once. It returns true if the request must be sent again in another form.
func (g *generator) stream(ctx context.Context, r *model.Request, yield func(*model.Chunk, error) bool) (again bool) {
	q, err := g.query(r, true)
	if err != nil {
		yield(nil, err)
		return false
	}
	var a answer
	x := &wire.Exchange{Stream: true, Request: q.edit, Event: a.take}
	events, err := g.client.CreateChatCompletionStream(x.In(ctx), q.ChatCompletionRequest)
	if g.adjust(q, x) {
		return true
	}
	if err == nil {
		defer events.Close() //nolint:errcheck // the answer is complete, or its error is known
	}
	// The SDK reads and the exchange decodes; the SDK's own result is not used.
	for err == nil {
		if _, err = events.RecvRaw(); err == nil && !a.chunks.Yield(yield) {
			return false
		}
	}
	if errors.Is(err, io.EOF) && x.Err == nil && x.Status != 0 {
		err = nil
	}
	if err := g.failure(ctx, x, err, &a); err != nil {
		yield(nil, err)
		return false
	}
	a.end()
	a.chunks.Yield(yield)
	return false
}

// CountTokens returns an estimate: the chat completions API cannot count tokens.
func (g *generator) CountTokens(_ context.Context, r *model.Request) (int, error) {
	return model.EstimateTokens(r), nil
}

// ModelNames returns the names of the models that the server has, in its order.
func (g *generator) ModelNames(ctx context.Context) ([]string, error) {
	var list struct {
		Data []struct {
			ID wire.Text `json:"id"`
		} `json:"data"`
	}
	x := &wire.Exchange{Event: func(raw []byte) error { return json.Unmarshal(raw, &list) }}
	_, err := g.client.ListModels(x.In(ctx))
	if err := x.Failure(ctx, Provider, err, list.Data != nil, g.secrets, problem); err != nil {
		return nil, err
	}
	var names []string
	for _, m := range list.Data {
		names = append(names, string(m.ID))
	}
	return names, nil
}

// failure returns the *model.Error of an incomplete response; nil if the response is complete.
func (g *generator) failure(ctx context.Context, x *wire.Exchange, err error, a *answer) error {
	if x.Problem == nil && a.problem != nil {
		x.Problem = a.problem
	}
	complete := a.complete || a.whole || x.Done && !a.calls.cut()
	return x.Failure(ctx, Provider, err, complete, g.secrets, problem)
}

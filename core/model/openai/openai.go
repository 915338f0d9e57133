// Package openai has the models of OpenAI, and of the many servers that speak its
// chat completions more or less, as a model.Generator.
package openai

import (
	"cmp"
	"context"
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

// Provider is the name under which this package signs errors.
const Provider = "openai"

// DefaultModel answers a request that names no model, unless Options.Model does.
const DefaultModel = "gpt-5"

// publicAPI is the address of OpenAI's own API.
const publicAPI = "https://api.openai.com/v1"

// Options configure a [Generator]. The environment is not read.
type Options struct {
	APIKey     string       // required by the public API; "": none is sent, as for a local server
	BaseURL    string       // as "http://127.0.0.1:8080/v1", with the version; "": the public API
	Model      string       // of requests that name none; "": DefaultModel
	HTTPClient *http.Client // its transport is used, and nothing else of it; nil: http.DefaultTransport
}

// Generator asks models over chat completions. It is safe for concurrent use. Each
// request is made once, follows no redirect and has no time limit but its ctx. One
// exception: where a server refuses a field of the request that others demand, the
// request is made again without it, and so are all later ones.
type Generator struct {
	client  *sdk.Client
	name    string
	public  bool // it is OpenAI's own API
	secrets wire.Secrets

	noStreamOptions atomic.Bool  // the server does not know stream_options
	limit           atomic.Int32 // which field for limits the server wants
}

var _ model.Generator = (*Generator)(nil)

// New returns a Generator. It does no I/O. The error is of code invalid_config:
// BaseURL is no HTTP address, or there is no key for the public API.
func New(o Options) (*Generator, error) {
	key := strings.TrimSpace(o.APIKey)
	public := o.BaseURL == "" || strings.HasPrefix(o.BaseURL, "https://api.openai.com")
	if key == "" && public {
		return nil, fault.New(fault.InvalidConfig, "model.openai", "There is no key for OpenAI's models.",
			"Set OPENAI_API_KEY, or OPENAI_BASE_URL to a server that needs no key, or use another model.")
	}
	o.BaseURL = cmp.Or(o.BaseURL, publicAPI)
	base, password, err := wire.BaseURL(o.BaseURL, "OpenAI's", "OPENAI_BASE_URL")
	if err != nil {
		return nil, err
	}
	o.Model = cmp.Or(o.Model, DefaultModel)
	config := sdk.DefaultConfig(key)
	config.BaseURL = base
	config.HTTPClient = wire.Client(o.HTTPClient)
	return &Generator{
		client: sdk.NewClientWithConfig(config), name: o.Model, public: public,
		secrets: wire.Secrets{key, password},
	}, nil
}

// Generate returns the whole answer.
func (g *Generator) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
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

// Stream returns the answer as it comes, calls at its end. An answer that ends
// without saying why is an error of kind connection, if [DONE] is missing or a
// call has no arguments that can be read. A server that does not stream is well,
// too.
func (g *Generator) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		for g.stream(ctx, r, yield) {
		}
	}
}

// stream makes the request once; true: it has to be made in another form.
func (g *Generator) stream(ctx context.Context, r *model.Request, yield func(*model.Chunk, error) bool) (again bool) {
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
	// The SDK reads, the exchange decodes; what the SDK makes of it is not needed.
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

// CountTokens returns an estimate: chat completions have no way to count.
func (g *Generator) CountTokens(_ context.Context, r *model.Request) (int, error) {
	return model.EstimateTokens(r), nil
}

// failure returns why there is no whole answer; nil: there is one. It is an
// *model.Error.
func (g *Generator) failure(ctx context.Context, x *wire.Exchange, err error, a *answer) error {
	if x.Problem == nil && a.problem != nil {
		x.Problem = a.problem
	}
	complete := a.complete || a.whole || x.Done && !a.calls.cut()
	return x.Failure(ctx, Provider, err, complete, g.secrets, problem)
}

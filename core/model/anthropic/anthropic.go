// Package anthropic implements model.Generator for the models of Anthropic and for servers with the
// same Messages API.
package anthropic

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// Provider is the provider name in the parts and errors of this package.
const Provider = "anthropic"

// DefaultModel is the model of a request without a name.
const DefaultModel = "claude-sonnet-5-5"

// publicAPI is the address of the public API.
const publicAPI = "https://api.anthropic.com"

// Options configures the generator of [New]. The environment is not read.
type Options struct {
	APIKey     string       // required by the public API; "": none is sent, e.g. to a local server
	BaseURL    string       // e.g. "http://127.0.0.1:8080", without /v1; "": the public API
	HTTPClient *http.Client // nil: a client without a timeout, since a response may take long; redirects are never followed
}

// generator sends requests over the Messages API. It is safe for concurrent use. Each request is
// sent once; retries are up to the caller.
type generator struct {
	messages sdk.MessageService
	models   sdk.ModelService
	hide     hider
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
	client := http.Client{}
	if o.HTTPClient != nil {
		client = *o.HTTPClient
	}
	client.CheckRedirect = refuseRedirect
	options := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(base, "/v1")), // the SDK adds /v1
		option.WithoutOpenTelemetry(),
		option.WithHTTPClient(&client),
		option.WithMaxRetries(0),
	}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	return &generator{
		messages: sdk.NewMessageService(options...),
		models:   sdk.NewModelService(options...),
		hide:     wire.Secrets{key, password}.Redact,
	}, nil
}

// errRedirect rejects a redirect: the key must not be sent to another address.
var errRedirect = errors.New("the server redirects to another address, which is not followed because the key is not meant for it")

func refuseRedirect(*http.Request, []*http.Request) error { return errRedirect }

// Generate returns the complete response. It streams internally, because the API requires streaming
// for long responses.
func (g *generator) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(g.Stream(ctx, r))
}

// Stream returns the response as it arrives. A call arrives in one chunk, after its last byte. The
// signature of a thought follows its text in a separate part. A response that ends early is an
// error of kind connection.
func (g *generator) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		params, forced, err := messageParams(r, DefaultModel)
		if err != nil {
			yield(nil, err)
			return
		}
		var response *http.Response
		stream := g.messages.NewStreaming(ctx, *params, option.WithResponseInto(&response))
		defer stream.Close() //nolint:errcheck // the response is complete, or its error is returned
		answer := answer{asText: forced}
		for stream.Next() {
			event := stream.Current()
			chunk, err := answer.take(&event)
			if err != nil {
				yield(nil, err)
				return
			}
			if chunk != nil && !yield(chunk, nil) {
				return
			}
			if answer.done {
				return
			}
		}
		err = stream.Err()
		if err == nil && ctx.Err() == nil && !isStream(response) {
			yield(nil, badAnswer("the server did not answer with a stream of events; the base URL may be wrong"))
			return
		}
		if err == nil {
			err = errCutShort
		}
		yield(nil, g.hide.asError(ctx, err))
	}
}

// isStream reports whether the response has the content type of an event stream.
func isStream(r *http.Response) bool {
	return r != nil && strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "text/event-stream")
}

// CountTokens returns the API's token count of a request. If the server does not have the endpoint,
// it returns an estimate.
func (g *generator) CountTokens(ctx context.Context, r *model.Request) (int, error) {
	params, _, err := messageParams(r, DefaultModel)
	if err != nil {
		return 0, err
	}
	count, err := g.messages.CountTokens(ctx, countParams(params))
	if err != nil {
		failure := g.hide.asError(ctx, err)
		if failure.Status == http.StatusNotFound || failure.Status == http.StatusMethodNotAllowed || failure.Status == http.StatusNotImplemented {
			return model.EstimateTokens(r), nil
		}
		return 0, failure
	}
	if count.InputTokens <= 0 {
		return model.EstimateTokens(r), nil
	}
	return int(count.InputTokens), nil
}

// ModelNames returns the names of the models that the server has, in its order.
func (g *generator) ModelNames(ctx context.Context) ([]string, error) {
	var names []string
	pages := g.models.ListAutoPaging(ctx, sdk.ModelListParams{})
	for pages.Next() {
		names = append(names, pages.Current().ID)
	}
	if err := pages.Err(); err != nil {
		return nil, g.hide.asError(ctx, err)
	}
	return names, nil
}

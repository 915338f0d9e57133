// Package anthropic has the models of Anthropic, and of servers that speak the
// same Messages API, as a model.Generator.
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

// Provider is the name under which this package signs parts and errors.
const Provider = "anthropic"

// DefaultModel answers a request that names no model, unless Options.Model does.
const DefaultModel = "claude-sonnet-5-5"

// publicAPI is the address of the public API.
const publicAPI = "https://api.anthropic.com"

// Options configure a [Generator]. The environment is not read.
type Options struct {
	APIKey     string       // required by the public API; "": none is sent, as for a local server
	BaseURL    string       // as "http://127.0.0.1:8080", without /v1; "": the public API
	Model      string       // of requests that name none; "": DefaultModel
	HTTPClient *http.Client // nil: one without a timeout, as an answer may take long; redirects are not followed
}

// Generator asks models over the Messages API. It is safe for concurrent use.
// Each request is made once: retries are the caller's.
type Generator struct {
	messages sdk.MessageService
	name     string
	hide     hider
}

var _ model.Generator = (*Generator)(nil)

// New returns a Generator. It does no I/O. The error is of code invalid_config:
// BaseURL is no HTTP address, or there is no key for the public API.
func New(o Options) (*Generator, error) {
	key := strings.TrimSpace(o.APIKey)
	if key == "" && strings.TrimSpace(o.BaseURL) == "" {
		return nil, fault.New(fault.InvalidConfig, "model.anthropic", "There is no key for Anthropic's models.",
			"Set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL to a server that needs no key, or use another model.")
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
		option.WithBaseURL(strings.TrimSuffix(base, "/v1")), // the SDK adds it
		option.WithoutOpenTelemetry(),
		option.WithHTTPClient(&client),
		option.WithMaxRetries(0),
	}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	return &Generator{
		messages: sdk.NewMessageService(options...),
		name:     cmp.Or(o.Model, DefaultModel),
		hide:     wire.Secrets{key, password}.Redact,
	}, nil
}

// errRedirect is returned for an answer that sends the request elsewhere: the
// key is not meant for that place.
var errRedirect = errors.New("the server redirects to another address, which is not followed because the key is not meant for it")

func refuseRedirect(*http.Request, []*http.Request) error { return errRedirect }

// Generate returns the whole answer. It is streamed, as the API demands for
// answers that may be long.
func (g *Generator) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(g.Stream(ctx, r))
}

// Stream returns the answer as it comes. A call arrives when its last byte has;
// a thought's signature follows its text in a part of its own. An answer that
// does not come to its end is an error of kind connection.
func (g *Generator) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		params, forced, err := messageParams(r, g.name)
		if err != nil {
			yield(nil, err)
			return
		}
		var response *http.Response
		stream := g.messages.NewStreaming(ctx, *params, option.WithResponseInto(&response))
		defer stream.Close() //nolint:errcheck // the answer is complete, or an error is already told
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
			yield(nil, badAnswer("the server answers with something else than a stream of events; the base URL may be wrong"))
			return
		}
		if err == nil {
			err = errCutShort
		}
		yield(nil, g.hide.asError(ctx, err))
	}
}

// isStream reports whether an answer says of itself that it is one of events.
func isStream(r *http.Response) bool {
	return r != nil && strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "text/event-stream")
}

// CountTokens asks the API how long a request is. A server that has no such
// endpoint makes it an estimate.
func (g *Generator) CountTokens(ctx context.Context, r *model.Request) (int, error) {
	params, _, err := messageParams(r, g.name)
	if err != nil {
		return 0, err
	}
	count, err := g.messages.CountTokens(ctx, countParams(params))
	if err != nil {
		told := g.hide.asError(ctx, err)
		if told.Status == http.StatusNotFound || told.Status == http.StatusMethodNotAllowed || told.Status == http.StatusNotImplemented {
			return model.EstimateTokens(r), nil
		}
		return 0, told
	}
	if count.InputTokens <= 0 {
		return model.EstimateTokens(r), nil
	}
	return int(count.InputTokens), nil
}

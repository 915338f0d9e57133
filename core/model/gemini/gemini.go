// Package gemini implements model.Generator for the models of Google's Gemini API and of Vertex AI.
package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// Provider is the provider name in the parts and errors of this package.
const Provider = "gemini"

// DefaultModel is the model of a request without a name.
const DefaultModel = "gemini-2.5-pro"

const (
	publicAPI     = "https://generativelanguage.googleapis.com"
	apiVersion    = "v1beta"
	vertexVersion = "v1beta1"
)

// Options configures the generator of [New]. Only for Vertex AI is the environment read.
type Options struct {
	APIKey     string       // required without a Project, else ignored
	Project    string       // of Google Cloud: requests go to Vertex AI, with the application default credentials; "": to the Gemini API
	Location   string       // of the Project, e.g. "europe-west4"; "": "global"
	BaseURL    string       // e.g. "http://127.0.0.1:8080", with or without /v1beta; "": the public API
	HTTPClient *http.Client // only its transport is used; nil: http.DefaultTransport
}

// generator sends requests over the Gemini API. It is safe for concurrent use. Each request is sent
// once, follows no redirect and is limited in time only by its ctx.
type generator struct {
	config  genai.ClientConfig
	secrets wire.Secrets

	once   sync.Once // creates client
	client *genai.Client
	err    error
}

var _ model.Generator = (*generator)(nil)

// New returns a generator that is safe for concurrent use. It does no I/O. It fails with code invalid_config without a key and a
// project, or if BaseURL is not an HTTP address.
func New(o Options) (model.Generator, error) {
	if o.Project != "" {
		return newVertex(o)
	}
	key := strings.TrimSpace(o.APIKey)
	if key == "" {
		return nil, fault.New(fault.InvalidConfig, "model.gemini", "There is no key for Gemini's models.",
			"Set GEMINI_API_KEY to a key of https://aistudio.google.com/apikey, or use another model.")
	}
	o.BaseURL = cmp.Or(o.BaseURL, publicAPI)
	base, password, err := wire.BaseURL(o.BaseURL, "Gemini's", "GOOGLE_GEMINI_BASE_URL")
	if err != nil {
		return nil, err
	}
	g := &generator{secrets: wire.Secrets{key, password}}
	// Every field that the SDK would read from the environment is set.
	g.config = genai.ClientConfig{
		APIKey:      key,
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  wire.Client(o.HTTPClient),
		HTTPOptions: genai.HTTPOptions{BaseURL: strings.TrimSuffix(base, "/"+apiVersion), APIVersion: apiVersion},
	}
	return g, nil
}

// newVertex returns a generator for Vertex AI.
func newVertex(o Options) (model.Generator, error) {
	g := &generator{config: genai.ClientConfig{
		Backend: genai.BackendVertexAI, Project: o.Project, Location: cmp.Or(strings.TrimSpace(o.Location), "global"),
		HTTPClient: wire.Client(o.HTTPClient), HTTPOptions: genai.HTTPOptions{APIVersion: vertexVersion},
	}}
	if o.BaseURL != "" { // else the SDK uses that of the location
		base, password, err := wire.BaseURL(o.BaseURL, "Vertex AI's", "GOOGLE_VERTEX_BASE_URL")
		if err != nil {
			return nil, err
		}
		g.config.HTTPOptions.BaseURL = strings.TrimSuffix(base, "/"+vertexVersion)
		g.secrets = wire.Secrets{password}
	}
	return g, nil
}

// vertex reports whether requests go to Vertex AI.
func (g *generator) vertex() bool { return g.config.Backend == genai.BackendVertexAI }

// models returns the SDK client. The SDK requires a context to create it and does not use that
// context.
func (g *generator) models(ctx context.Context) (*genai.Models, error) {
	g.once.Do(func() {
		if g.vertex() {
			if g.err = g.config.UseDefaultCredentials(); g.err != nil {
				g.err = noToken(g.err.Error())
				return
			}
		}
		if g.client, g.err = genai.NewClient(ctx, &g.config); g.err != nil {
			// The text of the error contains the key.
			g.err = &model.Error{Provider: Provider, Kind: model.InvalidRequest, Message: "the client cannot be created"}
		}
	})
	if g.err != nil {
		return nil, g.err
	}
	return g.client.Models, nil
}

// noToken is the error of a request that cannot be signed, because of the reason.
func noToken(reason string) *model.Error {
	return &model.Error{Provider: Provider, Kind: model.Unauthenticated, Message: wire.Secrets{}.Redact("Google Cloud gives no access token; sign in with gcloud auth application-default login: " + reason)}
}

// Generate returns the complete response.
func (g *generator) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	q, err := g.query(r)
	if err != nil {
		return nil, err
	}
	sdk, err := g.models(ctx)
	if err != nil {
		return nil, err
	}
	var a answer
	x := &wire.Exchange{Request: restore, Event: a.take}
	_, err = sdk.GenerateContent(x.In(ctx), q.model, q.contents, q.config)
	if err := g.failure(ctx, x, err, a.complete); err != nil {
		return nil, err
	}
	return a.chunks.Response(), nil
}

// Stream returns the response as it arrives. A response that ends without a finish reason is an
// error of kind connection.
func (g *generator) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		q, err := g.query(r)
		if err != nil {
			yield(nil, err)
			return
		}
		sdk, err := g.models(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		var a answer
		x := &wire.Exchange{Stream: true, Request: restore, Event: a.take}
		for _, err = range sdk.GenerateContentStream(x.In(ctx), q.model, q.contents, q.config) {
			if err != nil {
				break
			}
			if !a.chunks.Yield(yield) {
				return
			}
		}
		if !a.chunks.Yield(yield) {
			return
		}
		if err := g.failure(ctx, x, err, a.complete); err != nil {
			yield(nil, err)
		}
	}
}

// CountTokens returns the API's token count of the contents, plus an estimate for the system prompt
// and the tools, which the API does not count. If the server cannot count, all of it is an
// estimate.
func (g *generator) CountTokens(ctx context.Context, r *model.Request) (int, error) {
	q, err := g.query(r)
	if err != nil {
		return 0, err
	}
	sdk, err := g.models(ctx)
	if err != nil {
		return 0, err
	}
	var count struct {
		TotalTokens wire.Count `json:"totalTokens"`
	}
	x := &wire.Exchange{Request: restore, Event: func(raw []byte) error { return json.Unmarshal(raw, &count) }}
	_, err = sdk.CountTokens(x.In(ctx), q.model, q.contents, nil)
	if x.Status == http.StatusNotFound || x.Status == http.StatusMethodNotAllowed || x.Status == http.StatusNotImplemented {
		return model.EstimateTokens(r), nil
	}
	if err := g.failure(ctx, x, err, true); err != nil {
		return 0, err
	}
	if count.TotalTokens == 0 {
		return model.EstimateTokens(r), nil
	}
	return int(count.TotalTokens) + model.EstimateTokens(&model.Request{System: r.System, Tools: r.Tools}), nil
}

// failure returns the *model.Error of an incomplete response; nil if the response is complete.
func (g *generator) failure(ctx context.Context, x *wire.Exchange, err error, complete bool) error {
	if g.vertex() && err != nil && x.Status == 0 && x.Err == nil && ctx.Err() == nil {
		return noToken(err.Error()) // the request was not sent
	}
	return x.Failure(ctx, Provider, err, complete, g.secrets, problem)
}

// ModelNames returns the names of the models that the server has, in its order.
func (g *generator) ModelNames(ctx context.Context) ([]string, error) {
	sdk, err := g.models(ctx)
	if err != nil {
		return nil, err
	}
	type entry struct {
		Name wire.Text `json:"name"`
	}
	var names []string
	for token := ""; ; {
		var page struct {
			Models, PublisherModels []entry
			NextPageToken           wire.Text
		}
		x := &wire.Exchange{Event: func(raw []byte) error { return json.Unmarshal(raw, &page) }}
		_, err := sdk.List(x.In(ctx), &genai.ListModelsConfig{PageSize: 1000, PageToken: token})
		if err := g.failure(ctx, x, err, true); err != nil {
			return nil, err
		}
		for _, m := range append(page.Models, page.PublisherModels...) {
			names = append(names, string(m.Name[strings.LastIndexByte(string(m.Name), '/')+1:]))
		}
		next := string(page.NextPageToken)
		if next == "" || next == token {
			return names, nil
		}
		token = next
	}
}

// Package gemini implements model.Generator for the models of Google's Gemini API and of Vertex AI.
package gemini

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	base    string // address with the version, with a trailing slash
	key     string // of the Gemini API
	parent  string // path of the project and location of Vertex AI, with a trailing slash
	client  *http.Client
	secrets wire.Secrets
	account *account // of Vertex AI; nil: the Gemini API
}

var _ model.Generator = (*generator)(nil)

// New returns a generator that is safe for concurrent use. It does no I/O. It fails with code invalid_config without a key and a
// project, if Location is not the name of one, or if BaseURL is not an HTTP address.
func New(o Options) (model.Generator, error) {
	if o.Project != "" {
		return newVertex(o)
	}
	key := strings.TrimSpace(o.APIKey)
	if key == "" {
		return nil, fault.New(fault.InvalidConfig, "model.gemini", "There is no key for Gemini's models.",
			"Run fettle setup, or set GEMINI_API_KEY to a key of https://aistudio.google.com/apikey, or use another model.")
	}
	base, password, err := wire.BaseURL(cmp.Or(o.BaseURL, publicAPI), "Gemini's", "GOOGLE_GEMINI_BASE_URL")
	if err != nil {
		return nil, err
	}
	return &generator{
		base: strings.TrimSuffix(base, "/"+apiVersion) + "/" + apiVersion + "/", key: key,
		client: wire.Client(o.HTTPClient), secrets: wire.Secrets{key, password},
	}, nil
}

// newVertex returns a generator for Vertex AI.
func newVertex(o Options) (model.Generator, error) {
	location := cmp.Or(strings.TrimSpace(o.Location), "global")
	if strings.Trim(location, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" { // it becomes part of the host that gets the token
		return nil, fault.New(fault.InvalidConfig, "model.gemini", fmt.Sprintf("The location %.60q of Vertex AI is not valid.", location), "Set GOOGLE_CLOUD_LOCATION to a location such as europe-west4, or to global.")
	}
	base, password, err := wire.BaseURL(cmp.Or(o.BaseURL, vertexAPI(location)), "Vertex AI's", "GOOGLE_VERTEX_BASE_URL")
	if err != nil {
		return nil, err
	}
	return &generator{
		base:   strings.TrimSuffix(base, "/"+vertexVersion) + "/" + vertexVersion + "/",
		parent: "projects/" + url.PathEscape(o.Project) + "/locations/" + url.PathEscape(location) + "/",
		client: wire.Client(o.HTTPClient), secrets: wire.Secrets{password}, account: newAccount(),
	}, nil
}

// vertexAPI returns the public address of Vertex AI for a location.
func vertexAPI(location string) string {
	switch location {
	case "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu":
		return "https://aiplatform." + location + ".rep.googleapis.com"
	}
	return "https://" + location + "-aiplatform.googleapis.com"
}

// path returns the path of a model.
func (g *generator) path(name string) string {
	owner, rest, owned := strings.Cut(name, "/")
	switch {
	case g.account == nil && (owner == "models" || owner == "tunedModels") && owned:
		return name
	case g.account == nil:
		return "models/" + name
	case owner == "projects" && owned:
		return name
	case (owner == "models" || owner == "publishers") && owned:
		return g.parent + name
	case owned:
		return g.parent + "publishers/" + owner + "/models/" + rest
	}
	return g.parent + "publishers/google/models/" + name
}

// call sends the request of a method of a model.
func (g *generator) call(ctx context.Context, x *wire.Exchange, name, method string, body any) (io.ReadCloser, error) {
	if strings.ContainsAny(name, "?&#%\\") || strings.Contains(name, "..") {
		return nil, &model.Error{Provider: Provider, Kind: model.InvalidRequest, Message: "the name of the model is not valid"}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, &model.Error{Provider: Provider, Kind: model.InvalidRequest, Message: "the request cannot be written as JSON"}
	}
	return g.send(ctx, x, http.MethodPost, g.path(name)+":"+method, bytes.NewReader(raw))
}

// send sends a request and returns the body of its response. Reading the body passes the events to
// x. The error is a *model.Error.
func (g *generator) send(ctx context.Context, x *wire.Exchange, method, path string, body io.Reader) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(x.In(ctx), method, g.base+path, body)
	if err != nil {
		return nil, &model.Error{Provider: Provider, Kind: model.InvalidRequest, Message: "the address of the model is not valid"}
	}
	req.Header.Set("Content-Type", "application/json")
	if g.account == nil {
		req.Header.Set("X-Goog-Api-Key", g.key)
	} else if err := g.account.sign(ctx, req); err != nil {
		return nil, err
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return nil, x.Failure(ctx, Provider, err, false, g.secrets, problem)
	}
	return resp.Body, nil
}

// receive reads a response to its end. The error is a *model.Error.
func (g *generator) receive(ctx context.Context, x *wire.Exchange, body io.ReadCloser) error {
	defer body.Close()
	_, err := io.Copy(io.Discard, body)
	return x.Failure(ctx, Provider, err, x.Events > 0, g.secrets, problem)
}

// Generate returns the complete response.
func (g *generator) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	name, q, err := query(r)
	if err != nil {
		return nil, err
	}
	var a answer
	x := &wire.Exchange{Event: a.take}
	body, err := g.call(ctx, x, name, "generateContent", q)
	if err != nil {
		return nil, err
	}
	if err := g.receive(ctx, x, body); err != nil {
		return nil, err
	}
	if err := x.Failure(ctx, Provider, nil, a.complete, g.secrets, problem); err != nil {
		return nil, err
	}
	return a.chunks.Response(), nil
}

// Stream returns the response as it arrives. A response that ends without a finish reason is an
// error of kind connection.
func (g *generator) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		name, q, err := query(r)
		if err != nil {
			yield(nil, err)
			return
		}
		var a answer
		x := &wire.Exchange{Stream: true, Event: a.take}
		body, err := g.call(ctx, x, name, "streamGenerateContent?alt=sse", q)
		if err != nil {
			yield(nil, err)
			return
		}
		defer body.Close()
		for err == nil { // each read ends with an event
			_, err = body.Read(make([]byte, 512))
			if !a.chunks.Yield(yield) {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if err := x.Failure(ctx, Provider, err, a.complete, g.secrets, problem); err != nil {
			yield(nil, err)
		}
	}
}

// CountTokens returns the API's token count of the contents, plus an estimate for the system prompt
// and the tools, which the API does not count. If the server cannot count, all of it is an
// estimate.
func (g *generator) CountTokens(ctx context.Context, r *model.Request) (int, error) {
	name, q, err := query(r)
	if err != nil {
		return 0, err
	}
	var count struct {
		TotalTokens wire.Count `json:"totalTokens"`
	}
	x := &wire.Exchange{Event: func(raw []byte) error { return json.Unmarshal(raw, &count) }}
	body, err := g.call(ctx, x, name, "countTokens", request{Contents: q.Contents})
	if err != nil {
		return 0, err
	}
	err = g.receive(ctx, x, body)
	if x.Status == http.StatusNotFound || x.Status == http.StatusMethodNotAllowed || x.Status == http.StatusNotImplemented {
		return model.EstimateTokens(r), nil
	}
	if err != nil {
		return 0, err
	}
	if count.TotalTokens == 0 {
		return model.EstimateTokens(r), nil
	}
	return int(count.TotalTokens) + model.EstimateTokens(&model.Request{System: r.System, Tools: r.Tools}), nil
}

// ModelNames returns the names of the models that the server has, in its order.
func (g *generator) ModelNames(ctx context.Context) ([]string, error) {
	type entry struct {
		Name wire.Text `json:"name"`
	}
	list := "models?pageSize=1000"
	if g.account != nil {
		list = "publishers/google/models?pageSize=1000"
	}
	var names []string
	for token := ""; ; {
		var page struct {
			Models, PublisherModels []entry
			NextPageToken           wire.Text
		}
		x := &wire.Exchange{Event: func(raw []byte) error { return json.Unmarshal(raw, &page) }}
		path := list
		if token != "" {
			path += "&pageToken=" + url.QueryEscape(token)
		}
		body, err := g.send(ctx, x, http.MethodGet, path, nil)
		if err != nil {
			return nil, err
		}
		if err := g.receive(ctx, x, body); err != nil {
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

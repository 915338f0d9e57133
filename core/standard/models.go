package standard

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/anthropic"
	"github.com/fettle-dev/fettle/core/model/gemini"
	"github.com/fettle-dev/fettle/core/model/openai"
	"github.com/fettle-dev/fettle/core/model/replay"
	"github.com/fettle-dev/fettle/core/model/script"
)

// Auto is the name of the model that the keys decide on; "" is the same.
const Auto = "auto"

// ModelOptions configure [Models].
type ModelOptions struct {
	// Getenv returns a variable's value, as os.Getenv does. nil: none is set.
	Getenv func(string) string
	// OfProject reports whether a variable comes from a .env file of the project.
	// Such an address is used with a key from there, or without one, and not with
	// a key of the person's. nil: none does.
	OfProject func(string) bool
	// HTTPClient is whose transport the providers use. nil: http.DefaultTransport.
	HTTPClient *http.Client
	// Script is for models of a file.
	Script script.Options
}

// provider is one that [Models] knows.
type provider struct {
	name     string
	fallback string   // the model, where none is named
	keys     []string // variables; the first that is set counts
	address  string   // variable
	keyless  bool     // its address alone is enough for Auto: many local servers want no key
	open     func(key, address string, client *http.Client) (model.Generator, error)
}

// providers are in the order in which [Auto] looks for them.
var providers = []provider{
	{
		name: gemini.Provider, fallback: gemini.DefaultModel,
		keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, address: "GOOGLE_GEMINI_BASE_URL",
		open: func(key, address string, client *http.Client) (model.Generator, error) {
			return gemini.New(gemini.Options{APIKey: key, BaseURL: address, HTTPClient: client})
		},
	},
	{
		name: anthropic.Provider, fallback: anthropic.DefaultModel,
		keys: []string{"ANTHROPIC_API_KEY"}, address: "ANTHROPIC_BASE_URL",
		open: func(key, address string, client *http.Client) (model.Generator, error) {
			return anthropic.New(anthropic.Options{APIKey: key, BaseURL: address, HTTPClient: client})
		},
	},
	{
		name: openai.Provider, fallback: openai.DefaultModel,
		keys: []string{"OPENAI_API_KEY"}, address: "OPENAI_BASE_URL", keyless: true,
		open: func(key, address string, client *http.Client) (model.Generator, error) {
			return openai.New(openai.Options{APIKey: key, BaseURL: address, HTTPClient: client})
		},
	},
}

// Models finds the models that fettle knows: gemini:NAME, anthropic:NAME,
// openai:NAME, a NAME that tells its provider, as claude-…, and script:FILE.
// "auto" and "" mean the default model of the first provider that has a key, in
// this order: Gemini, Anthropic, OpenAI; a server at OPENAI_BASE_URL needs none. A
// script is never chosen for want of something else.
//
// One name has one Generator, so that a script goes on where another agent of the
// session has left it. It answers requests with the model of the name, whatever
// the request says. Errors are of code invalid_config and say what is missing;
// they and the Generators' hold no key. The Source is safe for concurrent use.
func Models(o ModelOptions) model.Source {
	s := &models{o: o, known: map[model.Name]model.Generator{}}
	return s.find
}

// Resolve returns the name of a model with its provider, "auto" resolved.
func (o ModelOptions) Resolve(name string) (model.Name, error) {
	if name = strings.TrimSpace(name); name != "" && name != Auto {
		names := []string{script.Provider}
		for _, p := range providers {
			names = append(names, p.name)
		}
		return model.ParseName(name, names)
	}
	for _, p := range providers {
		if o.first(p.keys...) != "" || (p.keyless && o.first(p.address) != "") {
			return model.Name{Provider: p.name, Model: p.fallback}, nil
		}
	}
	return model.Name{}, fault.New(fault.InvalidConfig, "standard.models", "No model is chosen, and there is no key of a provider.",
		"Set GEMINI_API_KEY or GOOGLE_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY; or for a local server OPENAI_BASE_URL, and give --model openai:NAME. "+
			"Other addresses are set with GOOGLE_GEMINI_BASE_URL and ANTHROPIC_BASE_URL. Without a provider, --model script:FILE plays a script.")
}

// Defaults returns the default models of the providers that have a key, as
// PROVIDER:NAME, in the order in which "auto" looks for them.
func (o ModelOptions) Defaults() []string {
	var names []string
	for _, p := range providers {
		if o.first(p.keys...) != "" {
			names = append(names, p.name+":"+p.fallback)
		}
	}
	return names
}

// Secrets returns the keys that are set, for config.Parameters.Secrets and for
// recordings.
func (o ModelOptions) Secrets() []string {
	var secrets []string
	for _, p := range providers {
		for _, name := range p.keys {
			if key := o.first(name); key != "" {
				secrets = append(secrets, key)
			}
		}
	}
	return secrets
}

// access returns the key and the address that a provider is reached with.
func (o ModelOptions) access(p provider) (key, address string) {
	key, address = o.first(p.keys...), o.first(p.address)
	if key == "" || o.OfProject == nil || !o.OfProject(p.address) {
		return key, address
	}
	for _, name := range p.keys {
		if o.first(name) == key && o.OfProject(name) {
			return key, address
		}
	}
	return key, ""
}

// first returns the first of some variables that is set.
func (o ModelOptions) first(names ...string) string {
	if o.Getenv == nil {
		return ""
	}
	for _, name := range names {
		if value := strings.TrimSpace(o.Getenv(name)); value != "" {
			return value
		}
	}
	return ""
}

// models keeps the Generators that have been asked for.
type models struct {
	o ModelOptions

	mu    sync.Mutex
	known map[model.Name]model.Generator
}

func (s *models) find(_ context.Context, text string) (model.Generator, error) {
	name, err := s.o.Resolve(text)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, ok := s.known[name]; ok {
		return g, nil
	}
	g, err := s.o.open(name)
	if err != nil {
		return nil, err
	}
	s.known[name] = g
	return g, nil
}

// open makes the Generator of a name.
func (o ModelOptions) open(name model.Name) (model.Generator, error) {
	if name.Provider == script.Provider {
		played, err := script.Load(name.Model)
		if err != nil {
			return nil, err
		}
		return named{script.New(played, o.Script), name}, nil
	}
	for _, p := range providers {
		if p.name == name.Provider {
			key, address := o.access(p)
			g, err := p.open(key, address, o.HTTPClient)
			if err != nil {
				return nil, err
			}
			return named{g, name}, nil
		}
	}
	return nil, fault.New(fault.InvalidConfig, "standard.models", "There is no provider "+name.Provider+".", "Choose another model.")
}

// Recording returns source with all its Generators recorded; pass Secrets to
// [replay.NewRecorder].
func Recording(source model.Source, r *replay.Recorder) model.Source {
	return func(ctx context.Context, name string) (model.Generator, error) {
		g, err := source(ctx, name)
		if err != nil {
			return nil, err
		}
		return r.Wrap(g), nil
	}
}

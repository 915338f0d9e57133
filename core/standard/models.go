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

// Variable is an environment variable, and what it is for.
type Variable struct{ Name, About string }

// Provider is one that [Models] knows.
type Provider struct {
	Name    string     // in the names of its models, as "gemini"
	Default string     // the model where none is named
	Keys    []Variable // the first that is set counts; never none
	Address Variable   // of its server, in place of the public one
	Keyless bool       // its address alone is enough for "auto": many local servers want no key

	open func(key, address string, client *http.Client) (model.Generator, error)
}

// Providers lists them, in the order in which [Auto] looks for them. Other than by a
// row here a provider is known by the beginnings of its models' names, if these
// tell it: see [model.ParseName].
func Providers() []Provider {
	return []Provider{
		{
			Name: gemini.Provider, Default: gemini.DefaultModel,
			Keys: []Variable{
				{"GEMINI_API_KEY", "the key for Google's models, and for `web_search` where no other service is set"},
				{"GOOGLE_API_KEY", "the same, where `GEMINI_API_KEY` is not set"},
			},
			Address: Variable{"GOOGLE_GEMINI_BASE_URL", "where Google's models are, if not at their public address"},
			open: func(key, address string, client *http.Client) (model.Generator, error) {
				return gemini.New(gemini.Options{APIKey: key, BaseURL: address, HTTPClient: client})
			},
		},
		{
			Name: anthropic.Provider, Default: anthropic.DefaultModel,
			Keys:    []Variable{{"ANTHROPIC_API_KEY", "the key for Anthropic's models"}},
			Address: Variable{"ANTHROPIC_BASE_URL", "where they are, if not at their public address"},
			open: func(key, address string, client *http.Client) (model.Generator, error) {
				return anthropic.New(anthropic.Options{APIKey: key, BaseURL: address, HTTPClient: client})
			},
		},
		{
			Name: openai.Provider, Default: openai.DefaultModel,
			Keys:    []Variable{{"OPENAI_API_KEY", "the key for OpenAI's models; a server at another address may need none"}},
			Address: Variable{"OPENAI_BASE_URL", "where OpenAI's models are, or a server that speaks as theirs does"}, Keyless: true,
			open: func(key, address string, client *http.Client) (model.Generator, error) {
				return openai.New(openai.Options{APIKey: key, BaseURL: address, HTTPClient: client})
			},
		},
	}
}

// Models finds the models that fettle knows: PROVIDER:NAME for each of [Providers],
// a NAME that tells its provider, as claude-…, and script:FILE. "auto" and "" mean
// the default model of the first provider that has a key, or an address if it is
// Keyless. A script is never chosen for want of something else.
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
		for _, p := range Providers() {
			names = append(names, p.Name)
		}
		return model.ParseName(name, names)
	}
	for _, p := range Providers() {
		if o.key(p) != "" || (p.Keyless && o.first(p.Address) != "") {
			return model.Name{Provider: p.Name, Model: p.Default}, nil
		}
	}
	return model.Name{}, fault.New(fault.InvalidConfig, "standard.models", "No model is chosen, and there is no key of a provider.", howToChoose())
}

// howToChoose names the variables of all providers.
func howToChoose() string {
	var keys, local, others []string
	for _, p := range Providers() {
		var names []string
		for _, v := range p.Keys {
			names = append(names, v.Name)
		}
		keys = append(keys, strings.Join(names, " or "))
		if p.Keyless {
			local = append(local, "for a local server "+p.Address.Name+", and give --model "+p.Name+":NAME")
		} else {
			others = append(others, p.Address.Name)
		}
	}
	return "Set " + listed(keys, "or") + "; or " + strings.Join(local, "; or ") + ". Other addresses are set with " + listed(others, "and") +
		". Without a provider, --model script:FILE plays a script."
}

// listed joins texts: a, b or c.
func listed(texts []string, word string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " " + word + " " + texts[last]
}

// Defaults returns the default models of the providers that have a key, as
// PROVIDER:NAME, in the order in which "auto" looks for them.
func (o ModelOptions) Defaults() []string {
	var names []string
	for _, p := range Providers() {
		if o.key(p) != "" {
			names = append(names, p.Name+":"+p.Default)
		}
	}
	return names
}

// Secrets returns the keys that are set, for config.Parameters.Secrets and for
// recordings.
func (o ModelOptions) Secrets() []string {
	var secrets []string
	for _, p := range Providers() {
		for _, v := range p.Keys {
			if key := o.first(v); key != "" {
				secrets = append(secrets, key)
			}
		}
	}
	return secrets
}

// access returns the key and the address that a provider is reached with.
func (o ModelOptions) access(p Provider) (key, address string) {
	key, address = o.key(p), o.first(p.Address)
	if key == "" || o.OfProject == nil || !o.OfProject(p.Address.Name) {
		return key, address
	}
	for _, v := range p.Keys {
		if o.first(v) == key && o.OfProject(v.Name) {
			return key, address
		}
	}
	return key, ""
}

// key returns the key of a provider, "" without one.
func (o ModelOptions) key(p Provider) string { return o.first(p.Keys...) }

// first returns the first of some variables that is set.
func (o ModelOptions) first(variables ...Variable) string {
	if o.Getenv == nil {
		return ""
	}
	for _, v := range variables {
		if value := strings.TrimSpace(o.Getenv(v.Name)); value != "" {
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
	for _, p := range Providers() {
		if p.Name == name.Provider {
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

package standard

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/replay"
	"github.com/fettle-dev/fettle/core/model/script"
)

// auto is the model name that selects a provider by the available keys; "" has the same meaning.
const auto = "auto"

// ModelOptions configures [Models].
type ModelOptions struct {
	// Getenv returns a variable's value, like os.Getenv. nil: no variable is set.
	Getenv func(string) string
	// OfProject reports whether a variable comes from a .env file of the project. Such an address is used with a key of
	// the project or without a key, never with the user's key. nil: no variable does.
	OfProject func(string) bool
	// HTTPClient supplies the transport of the providers. nil: http.DefaultTransport.
	HTTPClient *http.Client
	// Script configures scripted models.
	Script script.Options
}

// Models returns a Source for all supported models: PROVIDER:NAME for each of [Providers], a NAME that identifies its
// provider, such as claude-…, an alias such as flash, and script:FILE. "auto" and "" select the default model of the first
// provider with a key, or with an address if servers like it often need no key. A script is never selected automatically.
//
// Each name has one Generator, so that agents of a session share the position in a script. The Generator uses the
// model of its name, unless the request names another one of the provider. Errors have code invalid_config and name the missing
// part; errors of the Source and of the Generators contain no key. The Source is safe for concurrent use.
func Models(o ModelOptions) model.Source {
	s := &models{o: o, known: map[model.Name]model.Generator{}}
	return s.find
}

// Resolve parses a model name, replaces an alias, and resolves "auto" to a provider and model.
func (o ModelOptions) Resolve(name string) (model.Name, error) {
	if name = strings.TrimSpace(name); name != "" && name != auto {
		if named, ok := o.Aliases()[name]; ok {
			return named, nil
		}
		names := []string{script.Provider}
		for _, p := range Providers() {
			names = append(names, p.Name)
		}
		return model.ParseName(name, names)
	}
	for _, p := range Providers() {
		if p.Default != "" && (o.key(p) != "" || (p.keyless && o.first(p.Address) != "")) {
			return model.Name{Provider: p.Name, Model: p.Default}, nil
		}
	}
	return model.Name{}, fault.New(fault.InvalidConfig, "standard.models", "No model is selected, and no provider has a key.", howToChoose())
}

// howToChoose names the variables of the first providers, as a remedy.
func howToChoose() string {
	var keys, local, others []string
	for _, p := range Providers() {
		if p.preset {
			continue
		}
		var names []string
		for _, v := range p.Keys {
			names = append(names, v.Name)
		}
		keys = append(keys, strings.Join(names, " or "))
		if p.keyless {
			local = append(local, "for a local server "+p.Address.Name+", and give --model "+p.Name+":NAME")
		} else {
			others = append(others, p.Address.Name)
		}
	}
	return "Run fettle setup, or set " + listed(keys, "or") + "; or " + strings.Join(local, "; or ") + ". Other addresses are set with " + listed(others, "and") +
		". fettle models lists further providers, such as ollama. Without a provider, --model script:FILE plays a script."
}

// listed joins texts: a, b or c.
func listed(texts []string, word string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " " + word + " " + texts[last]
}

// Defaults returns the default models of the providers with a key, as PROVIDER:NAME, in the order in which "auto" tries
// them.
func (o ModelOptions) Defaults() []string {
	var names []string
	for _, p := range Providers() {
		if o.key(p) != "" && p.Default != "" {
			names = append(names, p.Name+":"+p.Default)
		}
	}
	return names
}

// Secrets returns the keys that are set, for config.Parameters.Environment.Secrets and for recordings.
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

// access returns the key and the address of a provider. An address of a project's file is used only with a key of such a
// file, or if nothing that belongs to the user would be sent there.
func (o ModelOptions) access(p Provider) access {
	a := access{key: o.key(p), address: o.first(p.Address), client: o.HTTPClient, value: func(v Variable) string {
		if o.ofProject(v) {
			return ""
		}
		return o.first(v)
	}}
	if a.key == "" && !p.ambient || !o.ofProject(p.Address) {
		return a
	}
	for _, v := range p.Keys {
		if o.first(v) == a.key && o.ofProject(v) {
			return a
		}
	}
	a.address = ""
	return a
}

func (o ModelOptions) ofProject(v Variable) bool { return o.OfProject != nil && o.OfProject(v.Name) }

// key returns the key of a provider, or "".
func (o ModelOptions) key(p Provider) string { return o.first(p.Keys...) }

// first returns the value of the first variable that is set.
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

// models caches the Generators by name.
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

// open creates the Generator of a name.
func (o ModelOptions) open(name model.Name) (model.Generator, error) {
	if name.Provider == script.Provider {
		played, err := script.Load(name.Model)
		if err != nil {
			return nil, err
		}
		return named{script.New(played, o.Script), name, &o}, nil
	}
	for _, p := range Providers() {
		if p.Name == name.Provider {
			g, err := p.open(o.access(p))
			if err != nil {
				return nil, err
			}
			return named{g, name, &o}, nil
		}
	}
	return nil, fault.New(fault.InvalidConfig, "standard.models", "Unknown model provider: "+name.Provider+".", "Choose another model.")
}

// check returns an error if a model is unknown or its provider has no key.
func (o ModelOptions) check(text string) error {
	name, err := o.Resolve(text)
	if err == nil && name.Provider != script.Provider {
		_, err = o.open(name)
	}
	return err
}

// Recording wraps source so that all its Generators are recorded. Pass Secrets to [replay.NewRecorder].
func Recording(source model.Source, r *replay.Recorder) model.Source {
	return func(ctx context.Context, name string) (model.Generator, error) {
		g, err := source(ctx, name)
		if err != nil {
			return nil, err
		}
		return r.Wrap(g), nil
	}
}

package providers

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/credentials"
	"github.com/fettle-dev/fettle/core/standard"
)

// lookupTime is the time that the keychain may take at the start of a session.
const lookupTime = 5 * time.Second

// keys returns the stored keys; nil: none.
func (a All) keys() *credentials.Store {
	if a.Keys == nil {
		return nil
	}
	return a.Keys()
}

// with returns the variables with the stored ones, where v has no value. A stored key has
// the name of the first key variable of its provider. It is read only if none of these
// variables is set.
func (a All) with(v config.Variables) config.Variables {
	return func(name string) (value string, ofProject bool) {
		if value, ofProject = v(name); strings.TrimSpace(value) != "" {
			return value, ofProject
		}
		entries, _ := a.keys().List() // Problem has the error
		for _, e := range entries {
			if stored := e.Variables[name]; stored != "" {
				return stored, false
			}
			p, ok := provider(e.Provider)
			if !ok || e.Place == credentials.Nowhere || len(p.Keys) == 0 || p.Keys[0].Name != name || setIn(v, p) != "" {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
			defer cancel()
			key, _ := a.keys().Key(ctx, e.Provider) // Problem has the error
			return key, false
		}
		return value, ofProject
	}
}

func provider(name string) (standard.Provider, bool) {
	all := standard.Providers()
	i := slices.IndexFunc(all, func(p standard.Provider) bool { return p.Name == name })
	if i < 0 {
		return standard.Provider{}, false
	}
	return all[i], true
}

// setIn returns the name of the variable that has the key of a provider, "" if none has.
func setIn(v config.Variables, p standard.Provider) string {
	for _, k := range p.Keys {
		if value, _ := v(k.Name); strings.TrimSpace(value) != "" {
			return k.Name
		}
	}
	return ""
}

// origin returns where the key of a provider is. It does not ask the keychain.
func (a All) origin(v config.Variables, name string) program.KeyOrigin {
	p, ok := provider(name)
	if !ok {
		return program.KeyOrigin{}
	}
	if variable := setIn(v, p); variable != "" {
		return program.KeyOrigin{Variable: variable}
	}
	e, _ := a.keys().Find(name)
	return program.KeyOrigin{Place: e.Place, Path: a.path(e.Place)}
}

func (a All) path(place credentials.Place) string {
	if place != credentials.InFile {
		return ""
	}
	return a.keys().Path()
}

// models implements [program.Models] with the stored keys.
type models struct {
	standard.ModelOptions // with the stored variables
	all                   All
	v                     config.Variables // without them
}

// Secrets returns the keys that variables have. The stored ones are announced by their
// store when they are read.
func (m models) Secrets() []string { return standard.ModelOptionsOf(m.v).Secrets() }

// Origin returns where the key of a provider is.
func (m models) Origin(provider string) program.KeyOrigin { return m.all.origin(m.v, provider) }

// source returns the models for the variables of a session. Errors about a key name its
// origin.
func (a All) source(v config.Variables) model.Source {
	find := standard.Models(standard.ModelOptionsOf(a.with(v)))
	return func(ctx context.Context, name string) (model.Generator, error) {
		g, err := find(ctx, name)
		if err != nil {
			return nil, err
		}
		return located{g, a.origin(v, model.NameOf(g).Provider)}, nil
	}
}

// located is a Generator whose errors name the origin of the key.
type located struct {
	model.Generator
	key program.KeyOrigin
}

// Name serves model.NameOf.
func (l located) Name() model.Name { return model.NameOf(l.Generator) }

// Limit serves model.LimitOf.
func (l located) Limit() int { return model.LimitOf(l.Generator) }

// Generate implements model.Generator.
func (l located) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	response, err := l.Generator.Generate(ctx, r)
	return response, l.key.In(err)
}

// Stream implements model.Generator.
func (l located) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		for chunk, err := range l.Generator.Stream(ctx, r) {
			if !yield(chunk, l.key.In(err)) {
				return
			}
		}
	}
}

// CountTokens implements model.Generator.
func (l located) CountTokens(ctx context.Context, r *model.Request) (int, error) {
	count, err := l.Generator.CountTokens(ctx, r)
	return count, l.key.In(err)
}

package standard

import (
	"context"
	"errors"
	"iter"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// named is the Generator of a model. A request may name another model of its provider, as hooks do.
type named struct {
	g     model.Generator
	name  model.Name
	names *ModelOptions // resolve the names of requests
}

// Name serves model.NameOf.
func (n named) Name() model.Name { return n.name }

// Limit serves model.LimitOf.
func (n named) Limit() int { return model.TokenLimit(n.name.Model) }

// with returns a request with the provider's name of its model.
func (n named) with(r *model.Request) *model.Request {
	to := *r
	switch of, err := n.names.Resolve(r.Model); {
	case r.Model == "", r.Model == auto:
		to.Model = n.name.Model
	case err == nil && of.Provider == n.name.Provider:
		to.Model = of.Model
	}
	return &to
}

// failed sets the provider in an error: services share the implementation of a provider's API.
func (n named) failed(err error) error {
	if e := (*model.Error)(nil); errors.As(err, &e) {
		e.Provider = n.name.Provider
	}
	return err
}

// ModelNames returns the names of the models that the provider has, in its own order.
func (n named) ModelNames(ctx context.Context) ([]string, error) {
	lister, ok := n.g.(interface {
		ModelNames(context.Context) ([]string, error)
	})
	if !ok {
		return nil, fault.New(fault.InvalidConfig, "standard.models", "The provider "+n.name.Provider+" does not list its models.", "See its documentation.")
	}
	names, err := lister.ModelNames(ctx)
	return names, n.failed(err)
}

// Generate implements model.Generator.
func (n named) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	response, err := n.g.Generate(ctx, n.with(r))
	return response, n.failed(err)
}

// Stream implements model.Generator.
func (n named) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		for chunk, err := range n.g.Stream(ctx, n.with(r)) {
			if !yield(chunk, n.failed(err)) {
				return
			}
		}
	}
}

// CountTokens implements model.Generator.
func (n named) CountTokens(ctx context.Context, r *model.Request) (int, error) {
	count, err := n.g.CountTokens(ctx, n.with(r))
	return count, n.failed(err)
}

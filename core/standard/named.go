package standard

import (
	"context"
	"iter"

	"github.com/fettle-dev/fettle/core/model"
)

// named is a Generator of one model. It ignores the model that a request names, such as "auto".
type named struct {
	g    model.Generator
	name model.Name
}

// Name serves model.NameOf.
func (n named) Name() model.Name { return n.name }

// Limit serves model.LimitOf.
func (n named) Limit() int { return model.TokenLimit(n.name.Model) }

// with returns a request for the model.
func (n named) with(r *model.Request) *model.Request {
	to := *r
	to.Model = n.name.Model
	return &to
}

// Generate implements model.Generator.
func (n named) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return n.g.Generate(ctx, n.with(r))
}

// Stream implements model.Generator.
func (n named) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return n.g.Stream(ctx, n.with(r))
}

// CountTokens implements model.Generator.
func (n named) CountTokens(ctx context.Context, r *model.Request) (int, error) {
	return n.g.CountTokens(ctx, n.with(r))
}

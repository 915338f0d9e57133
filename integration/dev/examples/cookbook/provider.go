package cookbook

// code: provider
import (
	"context"
	"iter"

	"github.com/fettle-dev/fettle/core/model"
)

// provider is a model behind a function, such as a call of a local server.
type provider struct {
	ask func(ctx context.Context, r *model.Request) (model.Part, error)
}

// Stream implements model.Generator.
func (p provider) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		part, err := p.ask(ctx, r)
		if err != nil {
			yield(nil, model.AsError("local", err))
			return
		}
		yield(&model.Chunk{Parts: []model.Part{part}, Finish: model.FinishStop}, nil)
	}
}

// Generate implements model.Generator.
func (p provider) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(p.Stream(ctx, r))
}

// CountTokens implements model.Generator.
func (p provider) CountTokens(_ context.Context, r *model.Request) (int, error) {
	return model.EstimateTokens(r), nil
}

// code: end

package standard_test

import (
	"context"
	"iter"

	"github.com/fettle-dev/fettle/core/model"
)

// saving is a Generator that calls a function before each response.
type saving struct {
	model.Generator
	before func()
}

func (s saving) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	s.before()
	return s.Generator.Stream(ctx, r)
}

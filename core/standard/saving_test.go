package standard_test

import (
	"context"
	"iter"

	"github.com/fettle-dev/fettle/core/model"
)

// saving is a Generator before each of whose answers something happens.
type saving struct {
	model.Generator
	before func()
}

func (s saving) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	s.before()
	return s.Generator.Stream(ctx, r)
}

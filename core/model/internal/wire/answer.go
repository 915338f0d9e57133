package wire

import (
	"context"

	"github.com/fettle-dev/fettle/core/model"
)

// Pieces are the chunks of an answer that nobody has got yet, in order.
type Pieces []*model.Chunk

// Yield hands them on, once; false: nobody wants more.
func (p *Pieces) Yield(yield func(*model.Chunk, error) bool) bool {
	chunks := *p
	*p = nil
	for _, chunk := range chunks {
		if !yield(chunk, nil) {
			return false
		}
	}
	return true
}

// Response joins them to the whole answer.
func (p Pieces) Response() *model.Response {
	var c model.Collector
	for _, chunk := range p {
		c.Add(chunk)
	}
	return c.Response()
}

// Failure returns why an exchange has no whole answer, a *model.Error; nil: it has
// one. err is what the SDK returned; complete says that the server has said why the
// answer ended; problem reads what it said instead of one.
func (x *Exchange) Failure(ctx context.Context, provider string, err error, complete bool, secrets Secrets, problem func(*Exchange, Secrets) *model.Error) error {
	switch {
	case ctx.Err() == nil && x.Problem != nil:
		return problem(x, secrets)
	case err != nil || x.Err != nil:
		return x.Broken(ctx, provider, err, secrets)
	case !complete:
		return x.CutShort(provider)
	}
	return nil
}

package wire

import (
	"context"

	"github.com/fettle-dev/fettle/core/model"
)

// Pieces are the pending chunks of a response, in order.
type Pieces []*model.Chunk

// Yield passes each chunk on, once. It returns false if the consumer stopped.
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

// Response joins the chunks to the complete response.
func (p Pieces) Response() *model.Response {
	var c model.Collector
	for _, chunk := range p {
		c.Add(chunk)
	}
	return c.Response()
}

// Failure returns the *model.Error of an exchange without a complete response; nil if the response
// is complete. err is the error of the SDK. complete reports that the server stated a finish
// reason. problem decodes an error response.
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

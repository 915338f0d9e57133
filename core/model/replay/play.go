package replay

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/fettle-dev/fettle/core/model"
)

// Mode states how similar a request must be to the recorded one.
type Mode int

// The modes.
const (
	// Strict accepts a request that is the same in every byte.
	Strict Mode = iota
	// Loose ignores differences in volatile text: UUIDs, hashes, times, dates, durations, local
	// ports and leading directories of paths. It also ignores call IDs, signatures, the system
	// prompt, the settings, the model name, and the declarations of tools except their names.
	Loose
)

// Player answers requests from a recording. It is safe for concurrent use.
//
// A request gets the response of the first unused recorded request that matches it. Equal requests,
// such as retries, are therefore answered in recorded order, and concurrent conversations do not
// affect each other. A request that is not in the recording fails with an error of kind
// invalid_request that lists the differences from the nearest unused one.
type Player struct {
	name      string
	mode      Mode
	exchanges []exchange
	digest    digester

	mu   sync.Mutex
	used []bool
}

var _ model.Generator = (*Player)(nil)

// Left returns the number of unused recorded requests.
func (p *Player) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := 0
	for _, used := range p.used {
		if !used {
			left++
		}
	}
	return left
}

// Generate returns a recorded response at once.
func (p *Player) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(p.Stream(ctx, r))
}

// Stream returns a recorded response in its recorded chunks.
func (p *Player) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		x, err := p.take(ctx, p.digest.of(opAnswer, r))
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range x.Chunks {
			if err := ctx.Err(); err != nil {
				yield(nil, model.AsError(provider, err))
				return
			}
			if !yield(x.Chunks[i].model(), nil) {
				return
			}
		}
		switch {
		case x.Error != nil:
			yield(nil, x.Error.model())
		case x.Left:
			yield(nil, problem("the recording "+p.name+" has only the beginning of this answer: the recorded request was abandoned"))
		}
	}
}

// CountTokens returns the recorded number.
func (p *Player) CountTokens(ctx context.Context, r *model.Request) (int, error) {
	x, err := p.take(ctx, p.digest.of(opCount, r))
	switch {
	case err != nil:
		return 0, err
	case x.Error != nil:
		return 0, x.Error.model()
	case x.Tokens == nil:
		return 0, problem("the recording " + p.name + " has no token count for this request")
	}
	return *x.Tokens, nil
}

// take marks the exchange that matches a request as used.
func (p *Player) take(ctx context.Context, a asked) (*exchange, error) {
	if err := ctx.Err(); err != nil {
		return nil, model.AsError(provider, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var nearest []string
	number := 0
	for i := range p.exchanges {
		x := &p.exchanges[i]
		if p.used[i] {
			continue
		}
		differences := compare(&x.Request, &a, p.mode)
		if len(differences) == 0 {
			p.used[i] = true
			return x, nil
		}
		if number == 0 || len(differences) < len(nearest) {
			number, nearest = x.Number, differences
		}
	}
	if number == 0 {
		return nil, problem(fmt.Sprintf("the recording %s is used up: all of its %d requests have been used, and this is one more", p.name, len(p.exchanges)))
	}
	return nil, problem(fmt.Sprintf("the request is not in the recording %s. It differs from number %d there, the nearest unused one: %s",
		p.name, number, sentence(nearest)))
}

func problem(message string) *model.Error {
	return &model.Error{Provider: provider, Kind: model.InvalidRequest, Message: message}
}

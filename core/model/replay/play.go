package replay

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/fettle-dev/fettle/core/model"
)

// Mode says how like a recorded request one has to be.
type Mode int

// The modes.
const (
	// Strict takes a request that is the same in every byte.
	Strict Mode = iota
	// Loose takes one that differs in what is volatile: UUIDs, hashes, times, dates,
	// durations, local ports, the directories that a path begins with, IDs of calls,
	// signatures; and in the system prompt, the settings, the model's name and the
	// declarations of tools other than their names.
	Loose
)

// Player answers requests as it was recorded. It is safe for concurrent use.
//
// A request gets the answer to the first recorded one that is like it and has
// not been asked; so requests that are alike, as retries are, are answered in
// the order of the recording, and conversations side by side do not get in each
// other's way. One that is not in the recording fails with an error of kind
// invalid_request that says what differs from the nearest that is left.
type Player struct {
	name      string
	mode      Mode
	exchanges []exchange
	digest    digester

	mu   sync.Mutex
	used []bool
}

var _ model.Generator = (*Player)(nil)

// Left returns how many recorded requests have not been asked.
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

// Generate returns a recorded answer at once.
func (p *Player) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(p.Stream(ctx, r))
}

// Stream returns a recorded answer in the pieces in which it came.
func (p *Player) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		x, err := p.take(ctx, p.digest.of(opAnswer, r))
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range x.Chunks {
			if err := ctx.Err(); err != nil {
				yield(nil, model.AsError(Provider, err))
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
			yield(nil, problem("the recording "+p.name+" has no more of this answer: whoever recorded it did not wait for its end"))
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
		return 0, problem("the recording " + p.name + " has no number for this request")
	}
	return *x.Tokens, nil
}

// take marks the exchange that answers a request as used.
func (p *Player) take(ctx context.Context, a asked) (*exchange, error) {
	if err := ctx.Err(); err != nil {
		return nil, model.AsError(Provider, err)
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
		return nil, problem(fmt.Sprintf("the recording %s is used up: all of its %d requests have been asked, and this is one more", p.name, len(p.exchanges)))
	}
	return nil, problem(fmt.Sprintf("the request is not in the recording %s. It differs from number %d there, the nearest that has not been asked: %s",
		p.name, number, sentence(nearest)))
}

func problem(message string) *model.Error {
	return &model.Error{Provider: Provider, Kind: model.InvalidRequest, Message: message}
}

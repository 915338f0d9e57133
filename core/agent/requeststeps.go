package agent

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/core/model"
)

// beforeRequest runs the steps before an attempt on a copy of its request. It returns the request to send, a replacement
// answer, or the event that ends the prompt.
func (p *prompting) beforeRequest(ctx context.Context, r *model.Request) (*model.Request, *model.Response, *Event) {
	const operation = "a step before the request"
	if len(p.c.o.Steps.BeforeRequest) == 0 {
		return r, nil, nil
	}
	r = copyOf(r)
	for _, step := range p.c.o.Steps.BeforeRequest {
		var advice RequestAdvice
		err := p.c.guard(operation, func() (err error) {
			advice, err = step(ctx, r)
			return err
		})
		if end := p.interrupted(ctx); end != nil {
			return nil, nil, end
		}
		if err != nil {
			e := p.failed(ctx, operation, err)
			return nil, nil, &e
		}
		if advice.Stop != "" {
			return nil, nil, &Event{Type: EventStopped, Text: advice.Stop}
		}
		if advice.Response != nil {
			return nil, advice.Response, nil
		}
	}
	return r, nil, nil
}

// copyOf copies the parts of a request that a step may modify in place. Bytes of data, signatures, arguments, responses
// and schemas are shared; a step replaces them instead.
func copyOf(r *model.Request) *model.Request {
	c := *r
	c.Contents = slices.Clone(r.Contents)
	for i, turn := range c.Contents {
		c.Contents[i].Parts = slices.Clone(turn.Parts)
		for j, part := range turn.Parts {
			p := &c.Contents[i].Parts[j]
			p.Data, p.Call = copied(part.Data), copied(part.Call)
			if p.Response = copied(part.Response); p.Response != nil {
				p.Response.Data = slices.Clone(part.Response.Data)
			}
		}
	}
	c.Temperature, c.TopP = copied(r.Temperature), copied(r.TopP)
	c.Tools = slices.Clone(r.Tools)
	c.Choice.Allowed = slices.Clone(r.Choice.Allowed)
	return &c
}

// copied returns a copy of *v, or nil.
func copied[T any](v *T) *T {
	if v == nil {
		return nil
	}
	c := *v
	return &c
}

// afterChunk runs the steps on a piece of the answer. It returns the event that ends the prompt, if a step requests
// that.
func (p *prompting) afterChunk(ctx context.Context, c *model.Chunk) *Event {
	const operation = "a step on a piece of the answer"
	for _, step := range p.c.o.Steps.AfterChunk {
		var stop string
		err := p.c.guard(operation, func() (err error) {
			stop, err = step(ctx, c)
			return err
		})
		if end := p.interrupted(ctx); end != nil {
			return end
		}
		if err != nil {
			e := p.failed(ctx, operation, err)
			return &e
		}
		if stop != "" {
			return &Event{Type: EventStopped, Text: stop}
		}
	}
	return nil
}

package agent

import (
	"context"
)

// observe notifies the observer of a start, and returns the context to continue with and the function for the end. A
// panic of an observer is logged and otherwise ignored.
func observe[E any](ctx context.Context, c *Client, operation string, begin func(ctx context.Context) (context.Context, func(E))) (context.Context, func(E)) {
	if c.o.Observer == nil {
		return ctx, func(E) {}
	}
	inner, end := ctx, func(E) {}
	_ = c.guard("the observation of "+operation, func() error {
		if x, f := begin(ctx); x != nil && f != nil {
			inner, end = x, f
		}
		return nil
	})
	return inner, func(e E) {
		_ = c.guard("the observation of "+operation, func() error {
			end(e)
			return nil
		})
	}
}

func (c *Client) observePrompt(ctx context.Context, p PromptInfo) (context.Context, func(PromptEnd)) {
	return observe(ctx, c, "a prompt", func(ctx context.Context) (context.Context, func(PromptEnd)) {
		return c.o.Observer.Prompt(ctx, p)
	})
}

func (c *Client) observeRequest(ctx context.Context, r RequestInfo) (context.Context, func(RequestEnd)) {
	return observe(ctx, c, "a request", func(ctx context.Context) (context.Context, func(RequestEnd)) {
		return c.o.Observer.Request(ctx, r)
	})
}

// compacted returns the end of a compaction for the observer.
type compacted struct {
	result Compaction
	err    error
}

func (c *Client) observeCompaction(ctx context.Context, forced bool) (context.Context, func(compacted)) {
	return observe(ctx, c, "a compaction", func(ctx context.Context) (context.Context, func(compacted)) {
		ctx, end := c.o.Observer.Compaction(ctx, forced)
		if end == nil {
			return ctx, nil
		}
		return ctx, func(d compacted) { end(d.result, d.err) }
	})
}

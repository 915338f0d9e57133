package scheduler

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/core/tools"
)

// Record begins to hold what a call shows to its conversation. What the call does with
// the returned context counts as shown only once the Recording is committed.
type Record func(ctx context.Context) (context.Context, Recording)

// Recording holds what one call shows until its response is known;
// *filestate.Recording has it. A nil Recording is not used.
type Recording interface {
	Mark() int         // how much is held
	Withhold(mark int) // drops what was held before the mark
	Commit()           // ends it: the response holds what the tool gave
	Drop()             // ends it: the response does not
}

// recorded begins Options.Record, and returns what ends it with the call's response.
func (c *call) recorded(ctx context.Context) (context.Context, func(Response)) {
	if c.o.Record == nil {
		return ctx, func(Response) {}
	}
	within, r := c.o.Record(ctx)
	c.recording = r
	return within, func(resp Response) {
		if c.gave && gives(resp) {
			r.Commit()
			return
		}
		r.Drop()
	}
}

// gives reports whether a response may hold what a tool has given: it is neither
// cancelled nor an error alone.
func gives(resp Response) bool {
	if resp.Status == StatusCancelled {
		return false
	}
	r := resp.Result
	return r.Error == nil || len(r.LLMContent.Parts) != 1 || r.LLMContent.HasData() || r.LLMContent.String() != r.Error.Line()
}

// mark returns how much is held so far.
func (c *call) mark() int {
	if c.recording == nil {
		return 0
	}
	return c.recording.Mark()
}

// withhold drops what was held before mark, as the response does not hold it any more.
func (c *call) withhold(mark int) {
	if c.recording != nil {
		c.recording.Withhold(mark)
	}
}

// lent returns a result with a list of parts of its own, so that a step that changes
// the parts in place does not change what it is compared with.
func lent(r tools.Result) tools.Result {
	r.LLMContent.Parts = slices.Clone(r.LLMContent.Parts)
	return r
}

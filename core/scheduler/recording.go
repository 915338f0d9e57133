package scheduler

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/core/tools"
)

// Recording holds the content that one call shows until its response is known; *filestate.Recording implements it. A nil
// Recording is not used.
type Recording interface {
	Mark() int         // number of entries
	Withhold(mark int) // drops entries before the mark
	Commit()           // ends the recording: the response has the tool's result
	Drop()             // ends the recording: the response does not
}

// recorded calls Options.Record, and returns the function that ends the recording with the response.
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

// gives reports whether a response may contain the tool's result: it is neither cancelled nor only an error.
func gives(resp Response) bool {
	if resp.Status == StatusCancelled {
		return false
	}
	r := resp.Result
	return r.Error == nil || len(r.LLMContent.Parts) != 1 || r.LLMContent.HasData() || r.LLMContent.String() != r.Error.Line()
}

// mark returns the current number of entries.
func (c *call) mark() int {
	if c.recording == nil {
		return 0
	}
	return c.recording.Mark()
}

// withhold drops the entries before mark, because the response no longer contains them.
func (c *call) withhold(mark int) {
	if c.recording != nil {
		c.recording.Withhold(mark)
	}
}

// lent returns a result with a copy of the list of parts, so that a middleware that modifies it in place does not modify
// the original.
func lent(r tools.Result) tools.Result {
	r.LLMContent.Parts = slices.Clone(r.LLMContent.Parts)
	return r
}

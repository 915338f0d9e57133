package scheduler

import (
	"context"

	"github.com/fettle-dev/fettle/core/tools"
)

// Executing looks at a call in the moment before it runs, as to keep what it is
// about to change: every question has been answered by then. inv is what will be
// executed, to be asked for its description and its locations alone. An error, or
// a panic, keeps the call from running. The function that it returns is called
// once when the call has ended, however it did and also if ctx has ended; what
// that one returns is told to the model and the person with the response. It may
// be nil. A call that is known to refuse is not looked at.
type Executing func(ctx context.Context, p Proposal, inv tools.ToolInvocation) (ended func(ctx context.Context) []string, err error)

// executing runs Options.Executing, and returns what to call when the call has
// ended.
func (c *call) executing(ctx context.Context) (ended func(context.Context), err error) {
	ended = func(context.Context) {}
	if c.o.Executing == nil || c.willRefuse {
		return ended, nil
	}
	var tell func(context.Context) []string
	err = tools.Protect(c.name, "executing", func() (err error) {
		tell, err = c.o.Executing(ctx, c.proposal(), c.inv)
		return err
	})
	if err != nil || tell == nil {
		return ended, err
	}
	return func(ctx context.Context) {
		err := tools.Protect(c.name, "executing", func() error {
			c.notices = append(c.notices, tell(ctx)...)
			return nil
		})
		if err != nil { // what the tool did is done
			c.report(err)
		}
	}, nil
}

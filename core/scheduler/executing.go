package scheduler

import (
	"context"

	"github.com/fettle-dev/fettle/core/tools"
)

// Executing is called right before a call runs, after all approvals, for example to checkpoint the files that the call
// will change. inv is the invocation to execute; only its Description and Locations may be called. An error or a panic
// keeps the call from running. The returned function, which may be nil, is called once when the call has ended, however
// it ended and even if ctx has ended; its text is added to the notices of the response. It is called with again if the
// call has changed nothing and is decided again, see [tools.ErrConfirmAgain]; Executing is called again before it runs.
// Executing is not called for a call that is known to refuse.
type Executing func(ctx context.Context, p Proposal, inv tools.ToolInvocation) (ended func(ctx context.Context, again bool) []string, err error)

// executing runs Options.Executing, and returns the function to call at the end of the call.
func (c *call) executing(ctx context.Context) (ended func(ctx context.Context, again bool), err error) {
	ended = func(context.Context, bool) {}
	if c.o.Executing == nil || c.willRefuse {
		return ended, nil
	}
	var tell func(context.Context, bool) []string
	err = tools.Protect(c.name, "executing", func() (err error) {
		tell, err = c.o.Executing(ctx, c.proposal(), c.inv)
		return err
	})
	if err != nil || tell == nil {
		return ended, err
	}
	return func(ctx context.Context, again bool) {
		err := tools.Protect(c.name, "executing", func() error {
			c.notices = append(c.notices, tell(ctx, again)...)
			return nil
		})
		if err != nil { // the tool has already run
			c.report(err)
		}
	}, nil
}

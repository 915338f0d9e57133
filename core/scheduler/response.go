package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

func (c *call) respond(status Status, result tools.Result) Response {
	return Response{
		CallID:   c.request.CallID,
		Tool:     c.name,
		Status:   status,
		Result:   result,
		Decision: c.decision,
		Params:   c.params,
	}
}

// refuse ends a call that was not allowed.
func (c *call) refuse(err *fault.Error) Response {
	return c.respond(StatusDenied, tools.Fail(err))
}

// ended ends a call whose step returned an error: the context's, a fault for
// the model, or a defect. What the step had to show is kept.
func (c *call) ended(ctx context.Context, result tools.Result, err error) Response {
	if c.isCancelled(ctx, err) {
		return c.cancelled(ctx, result)
	}
	if defect := new(tools.Defect); errors.As(err, &defect) {
		return c.defect(err)
	}
	f := fault.As(err)
	if f == nil { // PR-22: only then
		c.report(fmt.Errorf("tool %q: %w", c.name, err))
		if f = result.Error; f == nil {
			f = (&tools.Defect{Tool: c.name, Step: "execute", Cause: err}).Fault()
		}
	}
	return c.respond(StatusError, result.WithError(f))
}

// defect ends a call by a mistake in the tool: the host gets all of it, the
// model no stack.
func (c *call) defect(err error) Response {
	c.report(err)
	defect := new(tools.Defect)
	if !errors.As(err, &defect) {
		defect = &tools.Defect{Tool: c.name, Step: "schedule", Cause: err}
	}
	return c.respond(StatusError, tools.Fail(defect.Fault()))
}

// isCancelled reports whether err comes from the end of ctx.
func (c *call) isCancelled(ctx context.Context, err error) bool {
	return fault.CodeOf(err) == fault.Cancelled || ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// cancelled ends a call whose context has ended. What it had to show is kept.
func (c *call) cancelled(ctx context.Context, result tools.Result) Response {
	err := result.Error
	if fault.CodeOf(err) != fault.Cancelled {
		err = fault.Wrap(fault.Cancelled, "scheduler.run",
			fmt.Sprintf("The call of %s was cancelled.", c.name), "", context.Cause(ctx))
	}
	return c.respond(StatusCancelled, result.WithError(err))
}

// output returns what the tool may send live output to, and a function that
// ends it: what comes later is dropped. A listener that panics is reported and
// does no harm to the call.
func (c *call) output() (tools.Output, func()) {
	if c.o.Output == nil {
		return nil, func() {}
	}
	var mu sync.Mutex
	open := true
	send := func(chunk string) {
		mu.Lock()
		defer mu.Unlock()
		if !open {
			return
		}
		err := tools.Protect(c.name, "output", func() error {
			c.o.Output(c.request.CallID, chunk)
			return nil
		})
		if err != nil {
			c.report(err)
		}
	}
	return send, func() {
		mu.Lock()
		defer mu.Unlock()
		open = false
	}
}

package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
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
		Mode:     c.subject.Mode,
		Asked:    c.asked,
		Notices:  c.notices,
	}
}

// refuse ends a call that was denied.
func (c *call) refuse(err *fault.Error) Response {
	return c.respond(StatusDenied, tools.Fail(err))
}

// ended ends a call whose step returned an error: the context's, a fault for the model, or an internal error. The result
// of the step is kept.
func (c *call) ended(ctx context.Context, result tools.Result, err error) Response {
	if c.isCancelled(ctx, err) {
		return c.cancelled(ctx, result)
	}
	if isDefect(err) {
		return c.defect(err)
	}
	f := fault.As(err)
	if f == nil { // an ended ctx alone counts as a cancellation
		c.report(fmt.Errorf("tool %q: %w", c.name, err))
		if f = result.Error; f == nil {
			f = (&tools.Defect{Tool: c.name, Step: "execute", Cause: err}).Fault()
		}
	}
	return c.respond(StatusError, result.WithError(f))
}

// defect ends a call with a bug in the tool: the host gets all of it, the model no stack.
func (c *call) defect(err error) Response {
	c.report(err)
	defect := new(tools.Defect)
	if !errors.As(err, &defect) {
		defect = &tools.Defect{Tool: c.name, Step: "schedule", Cause: err}
	}
	return c.respond(StatusError, tools.Fail(defect.Fault()))
}

func isDefect(err error) bool { return errors.As(err, new(*tools.Defect)) }

// causeOf returns the cause of a failed step as one line; of a panic only its value.
func causeOf(err error) string {
	if f := fault.As(err); f != nil {
		return f.Line()
	}
	text := err.Error()
	if defect := new(tools.Defect); errors.As(err, &defect) {
		text = fmt.Sprint(defect.Cause)
	}
	return escape.Clip(escape.OneLine(text), 200) + "."
}

// isCancelled reports whether err is caused by the end of ctx.
func (c *call) isCancelled(ctx context.Context, err error) bool {
	return fault.CodeOf(err) == fault.Cancelled || ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// cancelled ends a call whose context has ended. Its result is kept.
func (c *call) cancelled(ctx context.Context, result tools.Result) Response {
	err := result.Error
	if fault.CodeOf(err) != fault.Cancelled {
		err = fault.Wrap(fault.Cancelled, "scheduler.run",
			fmt.Sprintf("The call of %s was cancelled.", c.name), "", context.Cause(ctx))
	}
	return c.respond(StatusCancelled, result.WithError(err))
}

// finish stores the call's response and publishes its final state.
func (c *call) finish(resp Response) {
	c.responses[c.index] = resp
	if c.executed {
		c.tellResult(resp)
	}
	var display json.RawMessage
	if resp.Result.ReturnDisplay != (tools.Display{}) && c.watched(bus.ToolCallsUpdate{}) {
		display, _ = resp.Result.ReturnDisplay.MarshalJSON() // left out if it cannot be encoded
	}
	c.change(c.index, func(s *bus.ToolCallState) {
		s.Status, s.Name, s.Display, s.Error = bus.CallStatus(resp.Status), c.name, display, failure(resp.Result.Error)
		s.Preview = resp.Preview
	})
}

// tellResult publishes the result of an executed call.
func (c *call) tellResult(resp Response) {
	switch {
	case resp.Status != StatusSuccess && c.watched(bus.ToolExecutionFailure{}):
		c.tell(bus.ToolExecutionFailure{ToolCall: c.toolCall(), CallID: c.request.CallID, Error: *failure(resp.Result.Error)})
	case resp.Status == StatusSuccess && c.watched(bus.ToolExecutionSuccess{}):
		text, err := tools.JSON(resp.Result)
		if err != nil {
			c.report(fmt.Errorf("tool %q: encode its result: %w", c.name, err))
			return
		}
		c.tell(bus.ToolExecutionSuccess{ToolCall: c.toolCall(), CallID: c.request.CallID, Result: json.RawMessage(text.String())})
	}
}

func failure(err *fault.Error) *bus.Failure {
	if err == nil {
		return nil
	}
	return &bus.Failure{Type: string(err.Code), Message: err.Message, Remedy: err.Remedy, Reason: string(err.Reason)}
}

// toolCall returns the call for messages.
func (c *call) toolCall() bus.ToolCall { return bus.ToolCall{Name: c.name, Args: wireArgs(c.params)} }

// wireArgs returns arguments that can be encoded, or nil for invalid JSON.
func wireArgs(args json.RawMessage) json.RawMessage {
	if !json.Valid(args) {
		return nil
	}
	return args
}

// output returns an Output for the tool, and a function that ends it; later chunks are discarded.
func (c *call) output() (tools.Output, func()) {
	if c.o.Bus == nil {
		return nil, func() {}
	}
	var mu sync.Mutex
	open := true
	send := func(chunk string) {
		mu.Lock()
		defer mu.Unlock()
		if open {
			c.tell(bus.ToolOutput{CallID: c.request.CallID, Chunk: chunk})
		}
	}
	return send, func() {
		mu.Lock()
		defer mu.Unlock()
		open = false
	}
}

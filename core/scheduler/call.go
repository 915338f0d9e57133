package scheduler

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// call is one call in progress.
type call struct {
	*batch
	index   int
	request Request
	name    string

	tool    tools.DeclarativeTool
	spec    tools.Spec
	inv     tools.ToolInvocation
	params  json.RawMessage // of inv
	advice  []Advice        // of Before middlewares, with verdict ask
	notices []string

	narrowed  bool     // spec describes the call, which may do less than its tool
	rewriters []string // names of those that replaced the arguments
	early     bool     // a Before middleware denied it, without policy

	subject   policy.Call
	decision  policy.Decision
	several   bool // the call concerns several files, so that an approval like that of one would not avoid the next question
	tightened bool // a decision other than the rules' asks or denies too, so that another rule would change nothing
	previews  bool // the call is previewed instead of run
	asked     bool // an approver was asked

	// willRefuse is set if the invocation returned ErrWillRefuse; it must not succeed.
	willRefuse bool
	executed   bool
	gave       bool      // the response is the tool's result, not an error of the scheduler
	recording  Recording // nil: Options.Record is nil
}

// run runs the steps of the call, and stops between steps once ctx has ended.
func (c *call) run(ctx context.Context) Response {
	for _, step := range []func(context.Context) (Response, bool){c.build, c.before} {
		if ctx.Err() != nil {
			break
		}
		if resp, done := step(ctx); done {
			return resp
		}
	}
	for ctx.Err() == nil {
		if resp, done := c.approve(ctx); done {
			return resp
		}
		if ctx.Err() != nil {
			break
		}
		if resp, again := c.execute(ctx); !again {
			return c.after(ctx, resp)
		}
	}
	return c.cancelled(ctx, tools.Result{})
}

// build finds the tool and builds the invocation.
func (c *call) build(ctx context.Context) (Response, bool) {
	tool, err := c.o.Tools.Lookup(c.request.Tool)
	if err != nil {
		return c.ended(ctx, tools.Result{}, c.missing(err)), true
	}
	c.tool = tool
	c.spec = tool.Spec()
	c.name = c.spec.Name
	if err := c.buildFrom(c.request.Args); err != nil {
		return c.ended(ctx, tools.Result{}, err), true
	}
	return Response{}, false
}

// buildFrom builds the invocation from args.
func (c *call) buildFrom(args json.RawMessage) error {
	return tools.Protect(c.name, "build", func() error {
		inv, err := c.tool.Build(args)
		if err != nil {
			return err
		}
		return c.take(inv)
	})
}

// narrowing is an invocation of a tool whose calls do different things, such as one that reads or changes a file by an
// argument. Narrow returns the tool's spec with the kind, the effects and the governing names of this call.
type narrowing interface {
	Narrow(spec tools.Spec) tools.Spec
}

// take makes inv the invocation of the call.
func (c *call) take(inv tools.ToolInvocation) error {
	if inv == nil {
		return errors.New("it built neither an invocation nor an error")
	}
	c.inv, c.params = inv, inv.Params()
	c.spec = c.tool.Spec()
	n, narrows := inv.(narrowing)
	if c.narrowed = narrows; narrows {
		narrow := n.Narrow(c.spec)
		c.spec.Kind, c.spec.Effects, c.spec.GovernedBy = narrow.Kind, narrow.Effects, narrow.GovernedBy
	}
	if !c.watched(bus.ToolCallsUpdate{}) {
		return nil
	}
	description, args := inv.Description(), wireArgs(c.params)
	c.note(c.index, func(s *bus.ToolCallState) { s.Name, s.Description, s.Args = c.name, description, args })
	return nil
}

// approve decides about the call and asks for approval if needed, again after each edit by the user. It reports whether
// the call ends here.
func (c *call) approve(ctx context.Context) (Response, bool) {
	for modified := false; ; modified = true {
		if resp, done := c.decide(ctx); done {
			return resp, true
		}
		if c.decision.Decision == policy.Allow && !modified {
			return Response{}, false
		}
		details, resp, done := c.confirm(ctx)
		if done || c.willRefuse {
			return resp, done
		}
		again, resp, done := c.ask(ctx, details, modified)
		if !again {
			return resp, done
		}
	}
}

// confirm runs the confirmation step of the tool; in plan mode the call ends with its result. It reports whether the
// call ends here.
func (c *call) confirm(ctx context.Context) (details *tools.Confirmation, resp Response, done bool) {
	err := tools.Protect(c.name, "confirm", func() (err error) {
		details, err = c.inv.Confirmation(ctx)
		if err == nil && details == nil {
			details = c.defaultDetails()
		}
		if err == nil {
			details = c.named(details)
		}
		return err
	})
	switch {
	case err != nil && c.previews:
		return nil, c.noPreview(ctx, err), true
	case errors.Is(err, tools.ErrWillRefuse):
		c.willRefuse = true
		return nil, Response{}, false
	case err != nil:
		return nil, c.ended(ctx, tools.Result{}, err), true
	case ctx.Err() != nil:
		return nil, c.cancelled(ctx, tools.Result{}), true
	case c.previews:
		resp = c.respond(StatusSuccess, preview(details))
		resp.Preview = true
		return nil, resp, true
	}
	return details, Response{}, false
}

// execute runs the invocation. It reports whether the call must be decided again instead.
func (c *call) execute(ctx context.Context) (resp Response, again bool) {
	c.to(bus.StatusScheduled)
	if err := c.confine(); err != nil {
		return c.ended(ctx, tools.Result{}, err), false
	}
	begun := c.o.Now()
	c.change(c.index, func(s *bus.ToolCallState) { s.Status, s.StartTime = bus.StatusExecuting, begun })
	executed, err := c.executing(ctx)
	if err != nil {
		return c.ended(ctx, tools.Result{}, err), false
	}
	c.executed = true
	var result tools.Result
	out, closeOutput := c.output()
	within, closeHost := host.Detachable(ctx)
	err = tools.Protect(c.name, "execute", func() (err error) {
		defer func() { executed(ctx, again) }()
		defer closeHost()
		defer closeOutput()
		result, err = c.inv.Execute(within, out)
		again = errors.Is(err, tools.ErrConfirmAgain) && !c.willRefuse
		return err
	})
	if again {
		c.executed = false
		return Response{}, true
	}
	if err != nil {
		c.gave = !isDefect(err)
		return c.ended(ctx, result, err), false
	}
	c.gave = true
	if result.Error != nil {
		if c.isCancelled(ctx, result.Error) {
			return c.cancelled(ctx, result), false
		}
		return c.respond(StatusError, result.WithError(result.Error)), false
	}
	if c.willRefuse {
		c.gave = false
		return c.defect(&tools.Defect{Tool: c.name, Step: "execute",
			Cause: errors.New("it announced a refusal and then succeeded without approval")}), false
	}
	return c.respond(StatusSuccess, result), false
}

// confine makes the invocation run its command as decided.
func (c *call) confine() error {
	inv, ok := c.inv.(tools.Confinable)
	if !ok || c.decision.Run == "" || c.willRefuse {
		return nil
	}
	return tools.Protect(c.name, "confine", func() error {
		if c.inv = inv.Confine(string(c.decision.Run)); c.inv == nil {
			return errors.New("it returned no invocation")
		}
		return nil
	})
}

// to sets the call's state.
func (c *call) to(status bus.CallStatus) {
	c.change(c.index, func(s *bus.ToolCallState) { s.Status = status })
}

// Package scheduler takes a tool call through its whole path: look up, build,
// decide, confirm, execute. Every call gets exactly one response.
package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// Tools finds tools by name; *tools.Registry has it.
type Tools interface {
	Lookup(name string) (tools.DeclarativeTool, error)
}

// Options are the parts of a [Scheduler]. Every function must be safe for
// concurrent use, as calls may run side by side.
type Options struct {
	Tools    Tools                               // required
	Decide   func(c policy.Call) policy.Decision // nil: an empty policy.KindTable
	Mode     func() policy.ApprovalMode          // asked once a call; nil: the default mode
	Ask      Asker                               // nil: there is nobody to ask, and an ask is a refusal
	Output   func(callID, chunk string)          // live output, chunk by chunk in order; nil: dropped
	OnDefect func(err error)                     // receives mistakes in tools, with stack; nil: dropped
}

// Scheduler runs tool calls. It keeps nothing between calls and is safe for
// concurrent use.
type Scheduler struct {
	o Options
}

// New returns a scheduler. It panics if o.Tools is nil, a mistake in the
// program.
func New(o Options) *Scheduler {
	if o.Tools == nil {
		panic("scheduler: Options.Tools is nil")
	}
	if o.Decide == nil {
		o.Decide = policy.KindTable{}.Decide
	}
	if o.Mode == nil {
		o.Mode = func() policy.ApprovalMode { return policy.ModeDefault }
	}
	return &Scheduler{o}
}

// report hands a defect to the host, whose own mistakes end here.
func (s *Scheduler) report(err error) {
	if s.o.OnDefect != nil {
		defer func() { _ = recover() }()
		s.o.OnDefect(err)
	}
}

// Request is one call as a model makes it.
type Request struct {
	CallID string          // told apart by the caller; may be empty
	Tool   string          // name or alias
	Args   json.RawMessage // one JSON object; empty means {}
}

// Response is what became of a call.
type Response struct {
	CallID   string
	Tool     string // the tool's own name, or the requested one if there is no such tool
	Status   Status
	Result   tools.Result    // Result.Error is set unless Status is success
	Decision policy.Decision // zero if the call did not get that far
	Params   json.RawMessage // the arguments that were decided on; nil if the call did not get that far
}

// Status is the outcome of a call.
type Status string

// The outcomes.
const (
	StatusSuccess   Status = "success"
	StatusError     Status = "error"
	StatusDenied    Status = "denied"    // by policy or a person, or for want of one
	StatusCancelled Status = "cancelled" // ctx ended
)

// Run takes one call through its path and returns its one response. It never
// panics: what a tool does wrong becomes an error response of code
// unhandled_exception, and goes with its stack to Options.OnDefect.
//
// The order is that of CR-36: policy may deny first; then the tool itself may
// refuse, in its confirmation step; only then is a person asked. In plan mode
// a tool that changes something is not executed; its response is a preview of
// the change. Once ctx has ended no further step begins, and the response is
// of status cancelled unless the tool had already succeeded.
func (s *Scheduler) Run(ctx context.Context, r Request) (resp Response) {
	c := &call{Scheduler: s, request: r, name: r.Tool}
	err := tools.Protect(r.Tool, "schedule", func() error {
		resp = c.run(ctx)
		return nil
	})
	if err != nil {
		resp = c.defect(err)
	}
	return resp
}

// call is one call on its way.
type call struct {
	*Scheduler
	request  Request
	name     string
	spec     tools.Spec
	inv      tools.ToolInvocation
	params   json.RawMessage
	mode     policy.ApprovalMode
	decision policy.Decision

	// willRefuse is set once the invocation has said so; it must not succeed.
	willRefuse bool
}

func (c *call) run(ctx context.Context) Response {
	if ctx.Err() != nil {
		return c.cancelled(ctx, tools.Result{})
	}
	if resp, done := c.build(ctx); done {
		return resp
	}
	if ctx.Err() != nil {
		return c.cancelled(ctx, tools.Result{})
	}
	c.mode = c.o.Mode()
	c.decision = c.o.Decide(c.subject())
	switch {
	case c.decision.Decision == policy.Allow && !c.previews():
	case c.decision.Decision == policy.Allow, c.decision.Decision == policy.AskUser:
		if resp, done := c.confirm(ctx); done {
			return resp
		}
	default: // deny, and what is no verdict
		return c.refuse(fault.New(fault.PolicyViolation, "scheduler.decide",
			"Tool execution denied by policy.", deniedRemedy(c.decision)))
	}
	if ctx.Err() != nil {
		return c.cancelled(ctx, tools.Result{})
	}
	return c.execute(ctx)
}

// subject is what policy decides about.
func (c *call) subject() policy.Call {
	var effects []string
	for _, e := range c.spec.Effects {
		effects = append(effects, string(e))
	}
	return policy.Call{
		Tool:       c.spec.Name,
		Aliases:    c.spec.Aliases,
		GovernedBy: c.spec.GovernedBy,
		Kind:       string(c.spec.Kind),
		Effects:    effects,
		Mutates:    c.spec.Mutates(),
		Params:     c.params,
		Mode:       c.mode,
	}
}

func deniedRemedy(d policy.Decision) string {
	const remedy = "Do not repeat the call; reach the goal in another way or tell the user what is needed."
	if d.Reason == "" {
		return remedy
	}
	return "Reason: " + d.Reason + " " + remedy
}

// previews reports whether the call is shown instead of run.
func (c *call) previews() bool {
	return c.mode == policy.ModePlan && c.spec.Mutates()
}

// build finds the tool and makes the invocation.
func (c *call) build(ctx context.Context) (Response, bool) {
	tool, err := c.o.Tools.Lookup(c.request.Tool)
	if err != nil {
		return c.ended(ctx, tools.Result{}, err), true
	}
	c.spec = tool.Spec()
	c.name = c.spec.Name
	err = tools.Protect(c.name, "build", func() (err error) {
		c.inv, err = tool.Build(c.request.Args)
		if err == nil {
			if c.inv == nil {
				return errors.New("it built neither an invocation nor an error")
			}
			c.params = c.inv.Params()
		}
		return err
	})
	if err != nil {
		return c.ended(ctx, tools.Result{}, err), true
	}
	return Response{}, false
}

// confirm lets the tool refuse and then asks a person, or makes the preview
// of plan mode. It reports whether the call ends here.
func (c *call) confirm(ctx context.Context) (Response, bool) {
	var confirmation *tools.Confirmation
	err := tools.Protect(c.name, "confirm", func() (err error) {
		confirmation, err = c.inv.Confirmation(ctx)
		if err == nil && confirmation == nil {
			confirmation = tools.DefaultConfirmation(c.spec, c.inv)
		}
		return err
	})
	switch {
	case err != nil && c.previews():
		return c.noPreview(ctx, err), true
	case errors.Is(err, tools.ErrWillRefuse):
		c.willRefuse = true
		return Response{}, false
	case err != nil:
		return c.ended(ctx, tools.Result{}, err), true
	case ctx.Err() != nil:
		return c.cancelled(ctx, tools.Result{}), true
	case c.previews():
		return c.respond(StatusSuccess, preview(confirmation)), true
	}
	return c.ask(ctx, confirmation)
}

// ask puts the question to a person. It reports whether the call ends here.
func (c *call) ask(ctx context.Context, confirmation *tools.Confirmation) (Response, bool) {
	if c.o.Ask == nil {
		return c.refuse(c.nobodyToAsk(nil)), true
	}
	answer, err := c.o.Ask(ctx, Question{CallID: c.request.CallID, Tool: c.name, Confirmation: confirmation})
	switch {
	case ctx.Err() != nil:
		return c.cancelled(ctx, tools.Result{}), true
	case err != nil:
		return c.refuse(c.nobodyToAsk(err)), true
	case answer.Outcome != ProceedOnce:
		return c.refuse(fault.New(fault.DeniedByUser, "scheduler.confirm",
			fmt.Sprintf("The user did not approve this call of %s; nothing was done.", c.name),
			"Do not repeat the call as it is; ask the user what to do instead.")), true
	}
	return Response{}, false
}

// nobodyToAsk says what would allow the call without a person.
func (c *call) nobodyToAsk(cause error) *fault.Error {
	mode := "yolo"
	if c.spec.Kind == tools.KindEdit {
		mode = "auto_edit"
	}
	return fault.Wrap(fault.NobodyToAsk, "scheduler.confirm",
		fmt.Sprintf("A call of %s needs a person's approval, and there is nobody to ask; nothing was done.", c.name),
		fmt.Sprintf("To allow it, run with --approval-mode %s or with --allowed-tools %s.", mode, c.name), cause)
}

// execute runs the invocation.
func (c *call) execute(ctx context.Context) Response {
	var result tools.Result
	out, closeOutput := c.output()
	err := tools.Protect(c.name, "execute", func() (err error) {
		defer closeOutput()
		result, err = c.inv.Execute(ctx, out)
		return err
	})
	if err != nil {
		return c.ended(ctx, result, err)
	}
	if result.Error != nil {
		if c.isCancelled(ctx, result.Error) {
			return c.cancelled(ctx, result)
		}
		return c.respond(StatusError, result.WithError(result.Error))
	}
	if c.willRefuse {
		return c.defect(&tools.Defect{Tool: c.name, Step: "execute",
			Cause: errors.New("it announced a refusal, was run without approval, and then succeeded")})
	}
	return c.respond(StatusSuccess, result)
}

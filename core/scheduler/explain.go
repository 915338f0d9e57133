package scheduler

import (
	"context"
	"encoding/json"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/jsonkeys"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// Situation overrides parts of the current situation for [Scheduler.Explain]; nil fields keep the current value.
type Situation struct {
	Mode     *policy.ApprovalMode
	Headless *bool   // no approver is available
	Subagent *string // the calling subagent; "": the main agent
}

// Explain returns the policy decision for a call without running it. Before middlewares and safety checkers, which may
// tighten the decision, do not run; Decision.Checkers names the checkers.
//
// Arguments that the tool would reject are decided on unchanged, as long as they are a JSON object without repeated keys
// and, for other tools than those of MCP servers, without keys that differ only in case. The tool need not be
// registered: an unknown tool counts as kind other, and the reason reports that.
func (s *Scheduler) Explain(ctx context.Context, r Request, in Situation) (policy.Decision, error) {
	c, err := s.explain(ctx, r, in)
	if err != nil {
		return policy.Decision{}, err
	}
	return c.decision, nil
}

// Subject returns the call about which Explain would request a decision, with the facts of the current situation. The
// errors are those of Explain.
func (s *Scheduler) Subject(ctx context.Context, r Request, in Situation) (policy.Call, error) {
	c, err := s.explain(ctx, r, in)
	if err != nil {
		return policy.Call{}, err
	}
	return c.subject, nil
}

// explain decides about a call without running it.
func (s *Scheduler) explain(ctx context.Context, r Request, in Situation) (c *call, err error) {
	if len(r.Args) == 0 {
		r.Args = json.RawMessage("{}")
	}
	if err := json.Unmarshal(r.Args, new(map[string]json.RawMessage)); err != nil {
		return nil, fault.Wrap(fault.InvalidToolParams, "scheduler.explain",
			"The arguments of "+r.Tool+" are not a JSON object.", "Pass an object, such as {\"key\": \"value\"}.", err)
	}
	c = &call{batch: s.newBatch([]Request{r}), request: r, name: r.Tool}
	err = tools.Protect(r.Tool, "explain", func() error {
		if err := c.situate(in); err != nil {
			return err
		}
		folded := 1
		if c.subject.Server != "" { // its keys are its own
			folded = 0
		}
		if err := jsonkeys.Check(r.Args, folded); err != nil {
			return fault.Wrap(fault.InvalidToolParams, "scheduler.explain",
				"The arguments of "+r.Tool+" are invalid: "+err.Error()+".", "Pass each key once, as the tool declares it.", err)
		}
		c.judge(ctx)
		if _, known := policy.WellKnown(r.Tool); c.tool == nil && !known {
			c.decision.Reason += " No tool of this name is registered; it counts as kind other."
		}
		return nil
	})
	if err == nil && ctx.Err() != nil {
		err = fault.Wrap(fault.Cancelled, "scheduler.explain", "The decision about "+r.Tool+" was cancelled.", "", context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// situate builds the subject of a call that is not run.
func (c *call) situate(in Situation) error {
	if err := c.identify(); err != nil {
		return err
	}
	if in.Mode != nil {
		c.subject.Mode = *in.Mode // before Subject, which may depend on it
	}
	if c.o.Subject != nil {
		c.o.Subject(&c.subject)
	}
	if in.Headless != nil {
		c.subject.Headless = *in.Headless
	}
	if in.Subagent != nil {
		c.subject.Subagent = *in.Subagent
	}
	return nil
}

// identify finds a registered or built-in tool.
func (c *call) identify() error {
	tool, err := c.o.Tools.Lookup(c.request.Tool)
	if err != nil {
		if _, ok := policy.WellKnown(c.request.Tool); !ok && fault.CodeOf(err) != fault.ToolNotRegistered {
			return err
		}
		c.subject = c.unregistered(c.request.Args)
		c.buildUnregistered()
		return nil
	}
	c.tool, c.spec = tool, tool.Spec()
	c.name = c.spec.Name
	if c.buildFrom(c.request.Args) != nil {
		c.params = c.request.Args
	}
	c.subject = c.newSubject()
	return nil
}

// buildUnregistered builds the call of a tool that is not registered, if the session can, so that policy decides about
// its files. Without it, or for arguments that the tool would reject, the call is decided on unchanged.
func (c *call) buildUnregistered() {
	known, ok := c.o.Tools.(interface {
		Unregistered(name string) tools.DeclarativeTool // nil: unknown
	})
	if !ok {
		return
	}
	tool := known.Unregistered(c.subject.Tool)
	if tool == nil {
		return
	}
	inv, err := tool.Build(c.request.Args)
	if err != nil {
		return
	}
	c.inv, c.subject.Params = inv, inv.Params()
	if n, ok := inv.(narrowing); ok {
		spec := n.Narrow(tool.Spec())
		c.subject.Kind, c.subject.Effects, c.subject.Mutates = string(spec.Kind), effectNames(spec), spec.Mutates()
		c.subject.GovernedBy = spec.GovernedBy
	}
}

// unregistered returns the subject of a call to a tool that is not registered.
func (c *call) unregistered(args json.RawMessage) policy.Call {
	subject, ok := policy.WellKnown(c.request.Tool)
	if !ok {
		subject = policy.Call{Tool: c.request.Tool, Kind: string(tools.KindOther)}
	}
	now := c.newSubject()
	subject.Params, subject.Mode, subject.Headless = args, now.Mode, now.Headless
	subject.Subagent = now.Subagent
	return subject
}

package scheduler

import (
	"context"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// decide asks policy about the current arguments, and lets Before middlewares and safety checkers tighten the decision.
// It reports whether the call ends here.
func (c *call) decide(ctx context.Context) (Response, bool) {
	c.subject = c.newSubject()
	if c.o.Subject != nil {
		c.o.Subject(&c.subject)
	}
	c.judge(ctx)
	if ctx.Err() != nil {
		return c.cancelled(ctx, tools.Result{}), true
	}
	for _, a := range c.advice {
		c.tighten(a.Verdict, a.Source, a.Reason)
	}
	if c.decision.Decision == policy.Allow || c.decision.Decision == policy.AskUser {
		if resp, done := c.check(ctx); done {
			return resp, true
		}
	}
	if c.decision.Decision == policy.Allow || c.decision.Decision == policy.AskUser {
		return Response{}, false
	}
	return c.rejected(), true // deny, or an unknown verdict
}

// judge calls policy: about the call or, for one with files of its own, about each of them. The strictest decision and
// all checkers apply.
func (c *call) judge(ctx context.Context) {
	inv, ok := c.inv.(tools.PerFile)
	if !ok || len(inv.Files()) == 0 {
		c.judgeOne(ctx)
		return
	}
	whole, files := c.subject, inv.Files()
	var strictest call
	var checkers []policy.Checker
	for i, path := range files {
		c.subject = whole
		names := map[string]any{"file_path": path}
		if slices.Contains(whole.GovernedBy, "list_directory") { // rules about that match its argument
			names["dir_path"] = path
		}
		if params, err := tools.Amend(whole.Params, names); err == nil { // Params is an object
			c.subject.Params = params
		}
		c.judgeOne(ctx)
		about := c.subject
		for _, ch := range c.decision.Checkers {
			if ch.About == nil {
				ch.About = &about
			}
			checkers = append(checkers, ch)
		}
		if i == 0 || policy.Stricter(strictest.decision.Decision, c.decision.Decision) != strictest.decision.Decision {
			strictest.subject, strictest.decision, strictest.tightened = c.subject, c.decision, c.tightened
		}
		strictest.previews = strictest.previews || c.previews
	}
	c.subject, c.decision, c.tightened, c.previews = strictest.subject, strictest.decision, strictest.tightened, strictest.previews
	c.decision.Checkers = checkers
	c.several = len(files) > 1
}

// judgeOne resolves the paths that policy needs, and calls policy about the subject.
func (c *call) judgeOne(ctx context.Context) {
	c.o.Policy.Prepare(&c.subject)
	unresolved := c.resolve(ctx)
	c.decision = c.o.Policy.Decide(c.subject)
	c.tightened = false
	c.previews = c.decision.Previews ||
		c.subject.Mode == policy.ModePlan && c.subject.Mutates && c.decision.Decision != policy.Allow
	if unresolved != "" && c.subject.Mutates {
		c.tighten(policy.AskUser, "", fmt.Sprintf("The target of %s is unknown.", unresolved))
	}
}

// resolve fills in the targets of paths, and returns a path that cannot be resolved, or "".
func (c *call) resolve(ctx context.Context) string {
	if c.o.RealPath == nil {
		return ""
	}
	unresolved := ""
	for _, path := range c.o.Policy.Paths(c.subject) {
		real, err := c.o.RealPath(ctx, path)
		if err != nil {
			unresolved = path
			continue
		}
		if c.subject.RealPaths == nil {
			c.subject.RealPaths = make(map[string]string)
		}
		c.subject.RealPaths[path] = real
	}
	return unresolved
}

// effectNames returns the effects of a spec, for policy.
func effectNames(s tools.Spec) (names []string) {
	for _, e := range s.Effects {
		names = append(names, string(e))
	}
	return names
}

// newSubject returns the scheduler's knowledge of the call, for policy.
func (c *call) newSubject() policy.Call {
	s := c.spec
	subject := policy.Call{
		Tool:       s.Name,
		Aliases:    s.Aliases,
		GovernedBy: s.GovernedBy,
		Kind:       string(s.Kind),
		Effects:    effectNames(s),
		Mutates:    s.Mutates(),
		Params:     c.params,
		Varies:     s.Varies,
		Mode:       c.o.Mode(),
		Headless:   !c.listening(bus.ToolConfirmationRequest{}),
		Subagent:   c.o.Subagent,
	}
	if s.Origin.Server != "" {
		subject.Server, subject.ServerTool, subject.Annotations = s.Origin.Server, s.ServerTool(), s.Annotations
	}
	return subject
}

// check runs the safety checkers of the decision. It reports whether the call ends here.
func (c *call) check(ctx context.Context) (Response, bool) {
	for _, ch := range c.decision.Checkers {
		verdict, reason := c.runChecker(ctx, ch)
		if ctx.Err() != nil {
			return c.cancelled(ctx, tools.Result{}), true
		}
		c.tighten(verdict, "safety checker "+ch.Name, reason)
		if c.decision.Decision == policy.Deny {
			break
		}
	}
	return Response{}, false
}

// runChecker returns the verdict of a checker, and a denial if it fails.
func (c *call) runChecker(ctx context.Context, ch policy.Checker) (policy.Verdict, string) {
	if c.o.Check == nil {
		return policy.Deny, fmt.Sprintf("The safety checker %s is required, and this session cannot run it.", ch.Name)
	}
	about := c.subject
	if ch.About != nil { // a file that a command line writes
		about = *ch.About
	}
	var verdict policy.Verdict
	var reason string
	err := tools.Protect(c.name, "check", func() (err error) {
		verdict, reason, err = c.o.Check(ctx, ch, about)
		return err
	})
	if err != nil {
		if isDefect(err) {
			c.report(err)
		}
		return policy.Deny, fmt.Sprintf("The safety checker %s failed: %s", ch.Name, causeOf(err))
	}
	return verdict, reason
}

// tighten makes the decision at least as strict as v, with the reason of source. An unknown verdict denies.
func (c *call) tighten(v policy.Verdict, source, reason string) {
	switch v {
	case policy.Allow:
		return
	case policy.AskUser:
	default:
		v = policy.Deny
	}
	c.tightened = true
	if policy.Stricter(c.decision.Decision, v) == c.decision.Decision {
		return
	}
	c.decision.Decision, c.decision.Reason = v, reasonOr(reason)
	c.decision.Rule, c.decision.Tier, c.decision.Source, c.decision.Line = source, "", source, 0
	c.decision.Message, c.decision.Remedy = "", ""
}

// rejected ends a call that policy denies, and publishes the rejection.
func (c *call) rejected() Response {
	if c.watched(bus.ToolPolicyRejection{}) {
		c.tell(bus.ToolPolicyRejection{
			ToolCall: c.toolCall(), CallID: c.request.CallID,
			ServerName: c.subject.Server, Subagent: c.subject.Subagent, Decision: c.decision.Explanation,
		})
	}
	message := "Tool execution denied by policy."
	if c.early {
		message = "A middleware denied the call."
		if c.decision.Source != "" {
			message = "The " + c.decision.Source + " denied the call."
		}
	}
	if c.decision.Message != "" {
		message += " " + c.decision.Message
	}
	remedy := "Do not repeat the call; use another approach or tell the user what is needed."
	if c.decision.Reason != "" {
		remedy = "Reason: " + c.decision.Reason + " " + remedy
	}
	return c.refuse(fault.New(fault.PolicyViolation, "scheduler.decide", message, remedy))
}

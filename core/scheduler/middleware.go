package scheduler

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// Before is a middleware that runs before policy. It can tighten the decision and rewrite the arguments, but not loosen
// anything: its verdict is combined with the policy decision on the final arguments. An error or a panic denies the
// call.
type Before func(ctx context.Context, p Proposal) (Advice, error)

// Proposal is a call before the decision.
type Proposal struct {
	CallID    string
	Requested string          // the name that the model used
	Spec      tools.Spec      // of the tool
	Args      json.RawMessage // as they would be executed; not to be modified
}

// Advice is the result of a [Before]. The zero value changes nothing.
type Advice struct {
	Verdict policy.Verdict  // deny or ask_user; "" and allow change nothing
	Stop    bool            // denies, and ends the batch: later calls do not start
	Reason  string          // for the model and the user; a sentence
	Source  string          // name of the source, such as a hook
	Args    json.RawMessage // replacement arguments, validated like a model's; nil: unchanged
	ArgsBy  string          // source of the replacement, like Source; "": Source
}

// After is a middleware that runs after the execution of a call. It returns the result to report, usually r with
// additions. It may set Result.Error, but an existing error stays. If it fails or panics, the call ends with an error
// and the result it received, because the tool has already run; a middleware that removes content must do so before it
// can fail. Result.Structured must match the content: if an After removes content and leaves Structured unchanged,
// Structured is dropped and the content does not count as shown. Additional text for the model goes into Result.Context.
// An After also runs if ctx has just ended; its own ctx error then has no effect.
type After func(ctx context.Context, d Done, r tools.Result) (tools.Result, error)

// Done is a call that has been executed.
type Done struct {
	Proposal
	Status Status // success or error, as the tool ended
}

func (c *call) proposal() Proposal {
	return Proposal{CallID: c.request.CallID, Requested: c.request.Tool, Spec: c.spec, Args: c.params}
}

// before runs the Before middlewares. It reports whether the call ends here.
func (c *call) before(ctx context.Context) (Response, bool) {
	for _, f := range c.o.Before {
		var advice Advice
		err := tools.Protect(c.name, "before", func() (err error) {
			advice, err = f(ctx, c.proposal())
			return err
		})
		switch {
		case ctx.Err() != nil:
			return c.cancelled(ctx, tools.Result{}), true
		case err != nil:
			c.report(err)
			c.denyEarly("", "A middleware before the call failed: "+causeOf(err))
			return c.rejected(), true
		case advice.Stop:
			return c.stop(advice), true
		case policy.Stricter(policy.AskUser, orAllow(advice.Verdict)) != policy.AskUser:
			c.denyEarly(advice.Source, advice.Reason)
			return c.rejected(), true
		}
		if resp, done := c.rewrite(ctx, advice); done {
			return resp, true
		}
		if orAllow(advice.Verdict) == policy.AskUser {
			c.advice = append(c.advice, advice)
		}
	}
	return Response{}, false
}

// denyEarly denies a call without policy.
func (c *call) denyEarly(source, reason string) {
	c.early = true
	c.decision = policy.Decision{Explanation: confirmation.Explanation{
		Decision: policy.Deny, Rule: source, Source: source, Reason: reasonOr(reason), Parts: []confirmation.Part{},
	}}
}

func reasonOr(reason string) string {
	if reason == "" {
		return "No reason was given."
	}
	return reason
}

func orAllow(v policy.Verdict) policy.Verdict {
	if v == "" {
		return policy.Allow
	}
	return v
}

// rewrite builds the call again from the arguments of an advice, if it has any.
func (c *call) rewrite(ctx context.Context, a Advice) (Response, bool) {
	if a.Args == nil {
		return Response{}, false
	}
	who := cmp.Or(a.ArgsBy, a.Source, "a middleware")
	if err := c.buildFrom(a.Args); err != nil {
		if f := fault.As(err); f != nil && !isDefect(err) {
			err = fault.Wrap(f.Code, "scheduler.before",
				fmt.Sprintf("The replacement arguments of %s are invalid: %s", who, f.Message),
				"The model's own arguments did not cause this; tell the user.", err)
		}
		return c.ended(ctx, tools.Result{}, err), true
	}
	c.notices = append(c.notices, fmt.Sprintf("The arguments of this call were changed before it ran, by %s.", who))
	c.rewriters = append(c.rewriters, who)
	return Response{}, false
}

// stop ends the call and the batch.
func (c *call) stop(a Advice) Response {
	c.end(c.index, fmt.Sprintf("the call of %s before it was stopped", c.name))
	c.denyEarly(a.Source, a.Reason)
	message := fmt.Sprintf("The call of %s was stopped before it ran.", c.name)
	if a.Reason != "" {
		message += " " + a.Reason
	}
	return c.refuse(fault.New(fault.StopExecution, "scheduler.before", message, "Stop, and tell the user what happened."))
}

// after runs the After middlewares of an executed call.
func (c *call) after(ctx context.Context, resp Response) Response {
	if len(c.o.After) == 0 || !c.gave || resp.Status != StatusSuccess && resp.Status != StatusError {
		return resp
	}
	done := Done{Proposal: c.proposal(), Status: resp.Status}
	for _, f := range c.o.After {
		given, mark := resp.Result, c.mark()
		var result tools.Result
		err := tools.Protect(c.name, "after", func() (err error) {
			result, err = f(ctx, done, lent(given))
			return err
		})
		switch {
		case err != nil && ctx.Err() != nil && c.isCancelled(ctx, err):
			continue
		case err != nil:
			c.report(err)
			result = given.WithError(c.afterFailed(done.Status, given, err))
		case given.Error != nil && result.Error == nil:
			result = result.WithError(given.Error)
		case result.Error != nil:
			result = result.WithError(result.Error)
		}
		if !keeps(given.LLMContent, result.LLMContent) {
			c.withhold(mark)
			resp.Replaced = true
			if bytes.Equal(given.Structured, result.Structured) {
				result.Structured = nil
			}
		}
		if resp.Result = result; result.Error != nil {
			resp.Status = StatusError
		}
	}
	return resp
}

// keeps reports whether after starts with all parts of before.
func keeps(before, after tools.Content) bool {
	return len(after.Parts) >= len(before.Parts) &&
		slices.EqualFunc(before.Parts, after.Parts[:len(before.Parts)], func(a, b tools.Part) bool { return a == b || reflect.DeepEqual(a, b) })
}

// afterFailed returns the error of a call whose After failed. An error of the tool takes precedence.
func (c *call) afterFailed(status Status, given tools.Result, err error) *fault.Error {
	if given.Error != nil {
		return given.Error
	}
	return fault.Wrap(fault.ExecutionFailed, "scheduler.after",
		fmt.Sprintf("%s ended with %s and its effects remain, but a middleware after it failed: %s", c.name, status, causeOf(err)),
		"Do not repeat the call; check its result, and tell the user.", err)
}

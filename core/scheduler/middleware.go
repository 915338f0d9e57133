package scheduler

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// Before looks at a call before policy does. It can tighten and rewrite, and
// never loosen: what it says is added to what policy decides about the final
// arguments. An error or a panic denies the call.
type Before func(ctx context.Context, p Proposal) (Advice, error)

// Proposal is a call that is about to be decided on.
type Proposal struct {
	CallID    string
	Requested string          // the name that the model used
	Spec      tools.Spec      // of the tool
	Args      json.RawMessage // as they would be executed; not to be changed in place
}

// Advice is what a [Before] has to say. Its zero value is nothing.
type Advice struct {
	Verdict policy.Verdict  // deny or ask_user; "" and allow change nothing
	Stop    bool            // denies, and ends the batch: later calls do not begin
	Reason  string          // for the model and the person; a sentence
	Source  string          // who says so, as the name of a hook
	Args    json.RawMessage // replace the arguments, and are checked like those of a model; nil: as they are
	ArgsBy  string          // who replaces them, as Source; "": Source
}

// After sees what a call gave once it has been executed, and returns what is
// reported, most often the same with something added. It may set Result.Error;
// an error that is there stays. An error or a panic of its own turns the call
// into an error and leaves the result it was given, as what the tool did is
// done: what must not be seen is taken out before anything can fail.
// Result.Structured says the same as the content: where an After takes something
// out of the content and leaves Structured as it is, that is dropped, and nothing of
// the content counts as shown. What an After adds for the model beside the result goes
// into Result.Context. It runs even if ctx has just ended, and its own ctx error then changes nothing.
type After func(ctx context.Context, d Done, r tools.Result) (tools.Result, error)

// Done is a call that has been executed.
type Done struct {
	Proposal
	Status Status // success or error, as the tool ended
}

func (c *call) proposal() Proposal {
	return Proposal{CallID: c.request.CallID, Requested: c.request.Tool, Spec: c.spec, Args: c.params}
}

// before runs the middlewares in front of policy. It reports whether the call
// ends here.
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
			c.denyEarly("", "A step that looks at calls before they run failed: "+causeOf(err))
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

// denyEarly is the decision on a call that policy is not asked about any more.
func (c *call) denyEarly(source, reason string) {
	c.early = true
	c.decision = policy.Decision{
		Decision: policy.Deny, Rule: source, Source: source, Reason: reasonOr(reason), Parts: []policy.Part{},
	}
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

// rewrite builds the call again from the arguments of an advice, if it has
// some.
func (c *call) rewrite(ctx context.Context, a Advice) (Response, bool) {
	if a.Args == nil {
		return Response{}, false
	}
	who := cmp.Or(a.ArgsBy, a.Source, "a step before the call")
	if err := c.buildFrom(a.Args); err != nil {
		if f := fault.As(err); f != nil && !isDefect(err) {
			err = fault.Wrap(f.Code, "scheduler.before",
				fmt.Sprintf("The arguments that %s put in place of the model's cannot be used: %s", who, f.Message),
				"The model's own arguments were not at fault; tell the user.", err)
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
	return c.refuse(fault.New(fault.StopExecution, "scheduler.before", message, "Do not go on; tell the user what happened."))
}

// after runs the middlewares behind a call whose tool has given a result.
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

// keeps reports whether all parts of a content still begin another.
func keeps(before, after tools.Content) bool {
	return len(after.Parts) >= len(before.Parts) && reflect.DeepEqual(before.Parts, after.Parts[:len(before.Parts)])
}

// afterFailed is the error of a call whose After has failed. The tool's own
// error, if there is one, is the better one to know.
func (c *call) afterFailed(status Status, given tools.Result, err error) *fault.Error {
	if given.Error != nil {
		return given.Error
	}
	return fault.Wrap(fault.ExecutionFailed, "scheduler.after",
		fmt.Sprintf("%s ended with %s, and what it did is done, but a step after it failed: %s", c.name, status, causeOf(err)),
		"Do not repeat the call; look at its result, and tell the user.", err)
}

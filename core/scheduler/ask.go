package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// ask sends the question to the subscribers of the bus, and acts on the answer. again is set if the user edited the
// proposal, so that it must be decided again; else done reports whether the call ends here.
func (c *call) ask(ctx context.Context, details *tools.Confirmation, modified bool) (again bool, resp Response, done bool) {
	if !c.listening(bus.ToolConfirmationRequest{}) {
		return false, c.refuse(c.noApprover(nil)), true
	}
	q := c.question(details, modified)
	c.change(c.index, func(s *bus.ToolCallState) {
		s.Status, s.CorrelationID, s.Subagent = bus.StatusAwaitingApproval, q.CorrelationID, q.Subagent
	})
	if c.o.Asked != nil {
		c.guard(c.name, func() { c.o.Asked(ctx, q) })
	}
	answer, err := bus.Ask(ctx, c.o.Bus, q)
	c.note(c.index, func(s *bus.ToolCallState) { s.CorrelationID = "" })
	c.asked = c.asked || ctx.Err() != nil || err == nil && !answer.RequiresUserConfirmation
	switch {
	case ctx.Err() != nil:
		return false, c.cancelled(ctx, tools.Result{}), true
	case err != nil:
		return false, c.refuse(c.noApprover(err)), true
	case answer.RequiresUserConfirmation:
		return false, c.refuse(c.noApprover(errors.New("the answering client has no user"))), true
	}
	outcome, problem := read(answer, q)
	if problem != "" {
		return false, c.refuse(fault.New(fault.DeniedByUser, "scheduler.confirm",
			fmt.Sprintf("The answer about this call of %s cannot be used: %s. It counts as a no; nothing was done.", c.name, problem),
			"Do not repeat the call as it is; tell the user.")), true
	}
	c.note(c.index, func(s *bus.ToolCallState) { s.Outcome = outcome })
	feedback := strings.TrimSpace(answer.Payload.Feedback)
	if outcome == bus.Cancel {
		return false, c.declined(feedback, details.IfDeclined), true
	}
	if feedback != "" {
		c.notices = append(c.notices, "The user said of this call: "+comment(feedback))
	}
	if outcome == bus.ModifyWithEditor {
		resp, done = c.modify(ctx, *answer.Payload.NewContent)
		return !done, resp, done
	}
	if scope := scopeOf(outcome); scope != "" {
		c.remember(ctx, scope, q.Remembers)
	}
	return false, Response{}, false
}

// read returns the approver's choice, or the problem with an invalid answer. A form that returns the content unchanged
// has modified nothing. A denied plan is a denial, whatever the outcome.
func read(a bus.ToolConfirmationResponse, q bus.ToolConfirmationRequest) (bus.Outcome, string) {
	if approved := a.Payload.Approved; approved != nil && !*approved {
		return bus.Cancel, ""
	}
	outcome := a.Outcome
	if outcome == "" {
		if outcome = bus.Cancel; a.Confirmed {
			outcome = bus.ProceedOnce
		}
	}
	asShown := q.Details.EditDetails != nil && a.Payload.NewContent != nil && *a.Payload.NewContent == q.Details.NewContent
	if a.Payload.NewContent != nil && outcome != bus.Cancel && !asShown {
		outcome = bus.ModifyWithEditor // never the shown content if the user replaced it
	}
	switch {
	case !slices.Contains(q.Outcomes, outcome):
		return "", fmt.Sprintf("%.40q was not offered", string(outcome))
	case outcome == bus.Cancel && a.Confirmed:
		return "", "it confirms and cancels at once"
	case outcome == bus.ModifyWithEditor && a.Payload.NewContent == nil:
		return "", "it requests a modification without the new content"
	case outcome != bus.Cancel && outcome != bus.ModifyWithEditor && !a.Confirmed:
		return "", fmt.Sprintf("its outcome is %s, and it does not confirm", outcome)
	}
	return outcome, ""
}

// declined ends a call that the user denied, and the batch. next is the tool's own remedy for feedback, or "".
func (c *call) declined(feedback, next string) Response {
	c.end(c.index, fmt.Sprintf("the user did not approve the call of %s before it", c.name))
	message := fmt.Sprintf("The user did not approve this call of %s; nothing was done.", c.name)
	remedy := "Do not repeat the call as it is; ask the user what to do instead."
	if feedback != "" {
		message += " The user said: " + comment(feedback)
		remedy = cmp.Or(next, "Do not repeat the call as it is; act on what the user said.")
	}
	return c.refuse(fault.New(fault.DeniedByUser, "scheduler.confirm", message, remedy))
}

// comment returns the words of a user as the end of a sentence: in quotes, which keep several lines together, and with
// a full stop unless they have a mark of their language that ends a sentence.
func comment(feedback string) string {
	if last, _ := utf8.DecodeLastRuneInString(feedback); last == '…' || unicode.Is(unicode.STerm, last) {
		return "“" + feedback + "”"
	}
	return "“" + feedback + "”."
}

// modify replaces the proposed content by the user's. It reports whether the call ends here.
func (c *call) modify(ctx context.Context, content string) (Response, bool) {
	err := tools.Protect(c.name, "modify", func() error {
		inv, err := c.inv.(tools.Modifiable).Modify(ctx, content)
		if err != nil {
			return err
		}
		return c.take(inv)
	})
	if err != nil {
		return c.ended(ctx, tools.Result{}, err), true
	}
	return Response{}, false
}

// remember turns an approval into the rules that the question showed, and publishes each. If that fails the call still
// runs, because it was approved, and its response reports the failure.
func (c *call) remember(ctx context.Context, scope policy.Scope, shown []bus.Remembered) {
	var words []string
	for _, r := range shown {
		if scopeOf(r.Outcome) == scope {
			words = r.Rules
		}
	}
	var rules []policy.Rule
	err := tools.Protect(c.name, "remember", func() (err error) {
		rules, err = c.o.Policy.Remember(ctx, c.subject, scope, words)
		return err
	})
	if err != nil {
		if isDefect(err) {
			c.report(err)
		}
		c.notices = append(c.notices, "This call was approved, but the approval is not remembered: "+causeOf(err))
		return
	}
	for _, r := range rules {
		for _, tool := range r.Tools {
			c.tellUpdate(r, tool, scope)
		}
	}
}

func (c *call) tellUpdate(r policy.Rule, tool string, scope policy.Scope) {
	m := bus.UpdatePolicy{
		ToolName: tool, ArgsPattern: r.ArgsPattern, CommandPrefix: r.CommandPrefix,
		MCPName: r.Server, AllowRedirection: r.AllowRedirection, Subagent: r.Subagent, Words: r.Words(),
	}
	if scope == policy.ScopeSaved {
		m.Persist, m.PersistScope = true, "user"
	}
	for _, mode := range r.Modes {
		m.Modes = append(m.Modes, string(mode))
	}
	c.tell(m)
}

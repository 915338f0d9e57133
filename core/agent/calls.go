package agent

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// mostCalls is the maximum number of calls of one answer that are run.
const mostCalls = 200

// ProcessTurn runs calls through the scheduler and returns the response parts for SendStream in their order, exactly one
// for each call. It does not run calls of an answer that was cut at its limit, because they may be incomplete. It also
// does not run calls after the 200th of one answer.
func (c *Client) ProcessTurn(ctx context.Context, calls []model.FunctionCall) ([]model.Part, []scheduler.Response) {
	responses := c.runCalls(ctx, calls)
	return responseParts(calls, responses), responses
}

// refusals returns the errors of calls of an answer that must not run, by ID.
func refusals(answer *model.Response) map[string]*fault.Error {
	calls := answer.Content.Calls()
	var because *fault.Error
	switch {
	case len(calls) == 0:
		return nil
	case answer.Finish == model.FinishMaxTokens:
		because = fault.New(fault.InvalidStream, "agent.calls",
			"This call was not run: the answer was cut at its length limit, so the call may be incomplete.",
			"Make fewer calls per turn, with shorter arguments: write a long file in several steps.").Because(maxTokensReason)
	case len(calls) > mostCalls:
		because = fault.New(fault.InvalidStream, "agent.calls",
			fmt.Sprintf("This call was not run: the turn has %d calls, and only the first %d are run.", len(calls), mostCalls),
			"Check the responses to the first ones, and repeat this call if it is still needed.").Because(tooManyCalls)
		calls = calls[mostCalls:]
	default:
		return nil
	}
	refused := make(map[string]*fault.Error, len(calls))
	for _, call := range calls {
		refused[call.ID] = because
	}
	return refused
}

func (c *Client) refuse(calls map[string]*fault.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = calls
}

// runCalls returns one response for each call; refused ones are not run.
func (c *Client) runCalls(ctx context.Context, calls []model.FunctionCall) []scheduler.Response {
	c.mu.Lock()
	refused := c.refused
	c.mu.Unlock()
	if len(refused) == 0 {
		return c.schedule(ctx, calls)
	}
	responses := make([]scheduler.Response, len(calls))
	var run []model.FunctionCall
	var places []int
	for i, call := range calls {
		if because := refused[call.ID]; because != nil {
			responses[i] = failure(call, because)
			continue
		}
		run, places = append(run, call), append(places, i)
	}
	if len(run) > 0 {
		for i, r := range c.schedule(ctx, run) {
			responses[places[i]] = r
		}
	}
	return responses
}

// schedule runs calls through the scheduler, and returns one response for each.
func (c *Client) schedule(ctx context.Context, calls []model.FunctionCall) []scheduler.Response {
	requests := make([]scheduler.Request, len(calls))
	for i, call := range calls {
		requests[i] = scheduler.Request{CallID: call.ID, Tool: call.Name, Args: call.Args}
	}
	var responses []scheduler.Response
	var failed *fault.Error
	if c.o.Scheduler == nil {
		failed = fault.New(fault.ToolNotRegistered, "agent.calls", "This conversation has no tools.", "Answer without a tool call.")
	} else if err := c.guard("the running of calls", func() error {
		responses = c.o.Scheduler.RunAll(ctx, requests)
		return nil
	}); err != nil {
		failed = fault.As(err)
	} else if len(responses) != len(calls) {
		failed = fault.New(fault.UnhandledException, "agent.calls",
			fmt.Sprintf("The scheduler returned %d responses to %d calls.", len(responses), len(calls)), "Tell the user.")
	}
	if failed != nil {
		return c.failAll(calls, failed)
	}
	return responses
}

// failAll returns the responses to calls that were not run.
func (c *Client) failAll(calls []model.FunctionCall, because *fault.Error) []scheduler.Response {
	responses := make([]scheduler.Response, len(calls))
	for i, call := range calls {
		responses[i] = failure(call, because)
	}
	return responses
}

// failure returns the response to a call that was not run.
func failure(call model.FunctionCall, because *fault.Error) scheduler.Response {
	return scheduler.Response{CallID: call.ID, Tool: call.Name, Status: scheduler.StatusError, Result: tools.Fail(because)}
}

// responseParts returns the response parts for the model.
func responseParts(calls []model.FunctionCall, responses []scheduler.Response) []model.Part {
	parts := make([]model.Part, len(calls))
	for i, call := range calls {
		r := Answer(call, responses[i])
		parts[i] = model.Part{Response: &r}
	}
	return parts
}

// Answer returns the response to a call for the model: its FunctionResponse, and the parts of the result that are not
// text.
func Answer(call model.FunctionCall, r scheduler.Response) model.FunctionResponse {
	a := model.FunctionResponse{ID: call.ID, Name: call.Name, Response: r.FunctionResponse()}
	for _, p := range r.Result.LLMContent.Parts {
		if data := dataOf(p); data != nil {
			a.Data = append(a.Data, *data)
		}
	}
	return a
}

// stoppedBy returns the reason if a response ends the prompt, or "": a middleware has stopped the call.
func stoppedBy(responses []scheduler.Response) string {
	for _, r := range responses {
		if r.Result.Error != nil && r.Result.Error.Code == fault.StopExecution {
			return r.Result.Error.Message
		}
	}
	return ""
}

// nameCalls gives the calls of an answer names, and IDs that are unique in the history. parts belong to the answer.
func nameCalls(history []model.Content, parts []model.Part) {
	used := make(map[string]bool) // IDs of the answer that another call has
	for _, p := range parts {
		if p.Call != nil {
			used[p.Call.ID] = p.Call.ID == ""
		}
	}
	if len(used) == 0 {
		return
	}
	eachCall(history, func(id string) {
		if _, mine := used[id]; mine {
			used[id] = true
		}
	})
	var inHistory map[string]bool // built on demand, which is rare
	for i, p := range parts {
		if p.Call == nil {
			continue
		}
		call := *p.Call
		call.Name = nameOr(call.Name)
		if used[call.ID] {
			if inHistory == nil {
				inHistory = make(map[string]bool)
				eachCall(history, func(id string) { inHistory[id] = true })
				eachCall([]model.Content{{Parts: parts}}, func(id string) { inHistory[id] = true })
			}
			call.ID = newID(call.ID, inHistory)
		}
		used[call.ID] = true
		parts[i].Call = &call
	}
}

// eachCall calls a function with the ID of each call of a history.
func eachCall(history []model.Content, take func(id string)) {
	for _, turn := range history {
		for _, p := range turn.Parts {
			if p.Call != nil {
				take(p.Call.ID)
			}
		}
	}
}

package agent

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// mostCalls are run of one answer.
const mostCalls = 200

// ProcessTurn runs calls through the scheduler and returns the parts that answer
// them, in their order, for SendStream: exactly one for each, whatever becomes of
// it. Not run are those of an answer that was cut at its limit, as they may not be
// whole, and of one answer those after the 200th.
func (c *Client) ProcessTurn(ctx context.Context, calls []model.FunctionCall) ([]model.Part, []scheduler.Response) {
	responses := c.runCalls(ctx, calls)
	return responseParts(calls, responses), responses
}

// refusals returns why calls of an answer are not to be run, by their IDs.
func refusals(answer *model.Response) map[string]*fault.Error {
	calls := answer.Content.Calls()
	var because *fault.Error
	switch {
	case len(calls) == 0:
		return nil
	case answer.Finish == model.FinishMaxTokens:
		because = fault.New(fault.InvalidStream, "agent.calls",
			"This call was not run: the answer was cut at the limit on its length, so the call may not be whole.",
			"Make fewer calls at once, with shorter arguments: write a long file in several steps.").Because(MaxTokens)
	case len(calls) > mostCalls:
		because = fault.New(fault.InvalidStream, "agent.calls",
			fmt.Sprintf("This call was not run: there were %d calls at once, and only the first %d are run.", len(calls), mostCalls),
			"Look at the answers to the first ones, and make this call again if it is still needed.").Because(TooManyCalls)
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

// runCalls returns one response for each call; those that are refused are not run.
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

// schedule has the scheduler run calls, and returns one response for each.
func (c *Client) schedule(ctx context.Context, calls []model.FunctionCall) []scheduler.Response {
	requests := make([]scheduler.Request, len(calls))
	for i, call := range calls {
		requests[i] = scheduler.Request{CallID: call.ID, Tool: call.Name, Args: call.Args}
	}
	var responses []scheduler.Response
	var failed *fault.Error
	if c.o.Scheduler == nil {
		failed = fault.New(fault.ToolNotRegistered, "agent.calls", "There are no tools in this conversation.", "Answer without calling one.")
	} else if err := c.guard("the running of calls", func() error {
		responses = c.o.Scheduler.RunAll(ctx, requests)
		return nil
	}); err != nil {
		failed = fault.As(err)
	} else if len(responses) != len(calls) {
		failed = fault.New(fault.UnhandledException, "agent.calls",
			fmt.Sprintf("The calls were answered %d times, and there are %d.", len(responses), len(calls)), "Tell the user.")
	}
	if failed != nil {
		return c.failAll(calls, failed)
	}
	return responses
}

// failAll answers calls that were not run.
func (c *Client) failAll(calls []model.FunctionCall, because *fault.Error) []scheduler.Response {
	responses := make([]scheduler.Response, len(calls))
	for i, call := range calls {
		responses[i] = failure(call, because)
	}
	return responses
}

// failure answers a call that was not run.
func failure(call model.FunctionCall, because *fault.Error) scheduler.Response {
	return scheduler.Response{CallID: call.ID, Tool: call.Name, Status: scheduler.StatusError, Result: tools.Fail(because)}
}

// responseParts returns what the model receives of each response.
func responseParts(calls []model.FunctionCall, responses []scheduler.Response) []model.Part {
	parts := make([]model.Part, len(calls))
	for i, call := range calls {
		r := Answer(call, responses[i])
		parts[i] = model.Part{Response: &r}
	}
	return parts
}

// Answer returns what the model receives of the response to its call: the response's
// FunctionResponse, and beside it what of the result is no text.
func Answer(call model.FunctionCall, r scheduler.Response) model.FunctionResponse {
	a := model.FunctionResponse{ID: call.ID, Name: call.Name, Response: r.FunctionResponse()}
	for _, p := range r.Result.LLMContent.Parts {
		if data := dataOf(p); data != nil {
			a.Data = append(a.Data, *data)
		}
	}
	return a
}

// stoppedBy returns why a response ends the prompt, or "": a step before the
// call has stopped it.
func stoppedBy(responses []scheduler.Response) string {
	for _, r := range responses {
		if r.Result.Error != nil && r.Result.Error.Code == fault.StopExecution {
			return r.Result.Error.Message
		}
	}
	return ""
}

// nameCalls gives the calls of an answer names, and IDs that no other call of
// the history has. parts are the answer's own.
func nameCalls(history []model.Content, parts []model.Part) {
	used := make(map[string]bool) // of the answer's IDs, those that another call has
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
	var taken map[string]bool // made where it is needed, which is seldom
	for i, p := range parts {
		if p.Call == nil {
			continue
		}
		call := *p.Call
		call.Name = nameOr(call.Name)
		if used[call.ID] {
			if taken == nil {
				taken = make(map[string]bool)
				eachCall(history, func(id string) { taken[id] = true })
				eachCall([]model.Content{{Parts: parts}}, func(id string) { taken[id] = true })
			}
			call.ID = newID(call.ID, taken)
		}
		used[call.ID] = true
		parts[i].Call = &call
	}
}

// eachCall hands over the ID of each call of a history.
func eachCall(history []model.Content, take func(id string)) {
	for _, turn := range history {
		for _, p := range turn.Parts {
			if p.Call != nil {
				take(p.Call.ID)
			}
		}
	}
}

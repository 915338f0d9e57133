package agent

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// ProcessTurn runs calls through the scheduler and returns the parts that answer
// them, in their order, for SendStream: exactly one for each, whatever becomes of
// it.
func (c *Client) ProcessTurn(ctx context.Context, calls []model.FunctionCall) ([]model.Part, []scheduler.Response) {
	responses := c.runCalls(ctx, calls)
	return responseParts(calls, responses), responses
}

// runCalls returns one response for each call.
func (c *Client) runCalls(ctx context.Context, calls []model.FunctionCall) []scheduler.Response {
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
		responses[i] = scheduler.Response{CallID: call.ID, Tool: call.Name, Status: scheduler.StatusError, Result: tools.Fail(because)}
	}
	return responses
}

// responseParts returns what the model receives of each response, what is no
// text beside it.
func responseParts(calls []model.FunctionCall, responses []scheduler.Response) []model.Part {
	parts := make([]model.Part, len(calls))
	for i, call := range calls {
		r := &model.FunctionResponse{Response: responses[i].FunctionResponse()}
		for _, p := range responses[i].Result.LLMContent.Parts {
			if p.InlineData != nil {
				r.Data = append(r.Data, model.Data{MIMEType: p.InlineData.MIMEType, Bytes: p.InlineData.Data})
			}
		}
		parts[i] = responsePart(call, r)
	}
	return parts
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

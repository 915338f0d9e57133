package config

import (
	"context"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// Declarations returns the tools that a model is to be told of now, in order, for
// a loop of the embedder's own: those of [tools.Registry.Declarations] with their
// schemas as a provider takes them, see [model.AdaptSchema]. d is the provider's
// dialect. Ask anew for each request: the list follows the approval mode, the
// settings, MCP servers and what tool_search has found. The schemas must not be
// changed. The error is of code not_initialized, or a [*model.Error] that names a
// tool which cannot be declared.
func (c *Config) Declarations(d model.Dialect) ([]model.Tool, error) {
	s, err := c.own("Declarations")
	if err != nil {
		return nil, err
	}
	return model.AdaptTools(modelTools(s.registry), d)
}

// RunCalls takes the calls that a model has made in one answer through their whole
// path, as [scheduler.Scheduler.RunAll] does, for a loop of the embedder's own. It
// returns what to send to the model, and what became of each, both in the order of
// the calls and one for each, whatever becomes of them. The error is of code
// not_initialized; nothing was run then.
func (c *Config) RunCalls(ctx context.Context, calls []model.FunctionCall) ([]model.FunctionResponse, []scheduler.Response, error) {
	s, err := c.own("RunCalls")
	if err != nil {
		return nil, nil, err
	}
	requests := make([]scheduler.Request, len(calls))
	for i, call := range calls {
		requests[i] = scheduler.Request{CallID: call.ID, Tool: call.Name, Args: call.Args}
	}
	responses := s.scheduler.RunAll(ctx, requests)
	answers := make([]model.FunctionResponse, len(calls))
	for i, call := range calls {
		answers[i] = agent.Answer(call, responses[i])
	}
	return answers, responses, nil
}

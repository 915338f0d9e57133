package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// everything holds the features of the server. All clients share it, so that a change
// triggered by one of them reaches the others. It is safe for concurrent use.
type everything struct {
	registry *tools.Registry
	calls    *scheduler.Scheduler
	changes  changes
	prompts  promptList
}

// newEverything creates all fixtures. An error is a mistake in one of them.
func newEverything() (*everything, error) {
	registry := tools.NewRegistry(tools.RegistryOptions{})
	e := &everything{registry: registry, calls: scheduler.New(scheduler.Options{Tools: registry})}
	e.prompts = newPromptList()
	box := &toolbox{registry: registry}
	addContentTools(box)
	addSpeakingTools(box)
	addQuestionTools(box)
	addRoundTools(box)
	addSchemaTools(box)
	addReconnectionTool(box)
	e.addChangeTools(box)
	return e, box.err
}

// run changes the watched resource until ctx ends.
func (e *everything) run(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			e.changes.tell(mcp.Change{Resource: watchedURI})
		}
	}
}

// service returns the service of one client. A call runs through the scheduler, which
// looks up the tool, validates the arguments, evaluates the policy, runs it, and
// converts a panic to an error.
func (e *everything) service() *mcpservice.Service {
	return &mcpservice.Service{
		Tools: e.registry.All,
		Call: func(ctx context.Context, name string, args json.RawMessage) tools.Result {
			return e.calls.Run(ctx, scheduler.Request{Tool: name, Args: args}).Result
		},
		Instructions: "Every tool shows one feature of a server. Call them in any order; none changes anything outside of the server.",
		Resources:    listResources,
		Templates:    listTemplates,
		Read:         readResource,
		Prompts:      e.prompts.list,
		Prompt:       e.prompts.fill,
		Complete:     complete,
		Watch:        e.changes.watch,
		Updates:      true,
	}
}

// toolbox collects tools and the errors of their definitions.
type toolbox struct {
	registry *tools.Registry
	err      error
}

// add adds the result of [tools.Define].
func (b *toolbox) add(t tools.DeclarativeTool, err error) {
	if err == nil {
		err = b.registry.Register(t)
	}
	b.err = errors.Join(b.err, err)
}

// none is the parameters of a tool without arguments.
type none struct{}

// say returns a result of plain text.
func say(text string) tools.Result {
	return tools.Result{LLMContent: tools.Text(text), ReturnDisplay: tools.TextDisplay(text)}
}

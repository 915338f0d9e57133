package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// everything is what the server offers. All clients see one and the same, so
// that a change which one of them triggers reaches the others. It is safe for
// concurrent use.
type everything struct {
	registry *tools.Registry
	calls    *scheduler.Scheduler
	changes  changes
	prompts  promptList
}

// newEverything makes all fixtures. An error is a mistake in one of them.
func newEverything() (*everything, error) {
	registry := tools.NewRegistry(tools.RegistryOptions{})
	e := &everything{registry: registry, calls: scheduler.New(scheduler.Options{Tools: registry})}
	e.prompts = newPromptList()
	box := &toolbox{registry: registry}
	addContentTools(box)
	addSpeakingTools(box)
	addAskingTools(box)
	addRoundTools(box)
	addSchemaTools(box)
	addReconnectionTool(box)
	e.addChangeTools(box)
	return e, box.err
}

// run lets the watched resource change, until ctx ends.
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

// service is what one client is served with. A call takes the whole path: the
// scheduler finds the tool, checks the arguments, asks the policy, runs it, and
// turns a panic into an error.
func (e *everything) service() *mcp.Service {
	return &mcp.Service{
		Tools: e.registry.All,
		Call: func(ctx context.Context, name string, args json.RawMessage) tools.Result {
			return e.calls.Run(ctx, scheduler.Request{Tool: name, Args: args}).Result
		},
		Instructions: "Every tool here shows one thing that a server can do. Call them in any order; none changes anything outside of the server.",
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

// toolbox gathers tools, and what is wrong with their definitions.
type toolbox struct {
	registry *tools.Registry
	err      error
}

// add takes what [tools.Define] returns.
func (b *toolbox) add(t tools.DeclarativeTool, err error) {
	if err == nil {
		err = b.registry.Register(t)
	}
	b.err = errors.Join(b.err, err)
}

// none is the parameters of a tool that takes no arguments.
type none struct{}

// say returns a result of plain text.
func say(text string) tools.Result {
	return tools.Result{LLMContent: tools.Text(text), ReturnDisplay: tools.TextDisplay(text)}
}

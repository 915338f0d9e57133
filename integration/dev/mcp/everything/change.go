package main

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
)

// changes tells whoever watches what is not as it was. The zero value has
// nobody who watches.
type changes struct {
	mu       sync.Mutex
	watchers map[*func(mcp.Change)]struct{}
}

// watch is a Service's Watch.
func (c *changes) watch(changed func(mcp.Change)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watchers == nil {
		c.watchers = map[*func(mcp.Change)]struct{}{}
	}
	c.watchers[&changed] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, &changed)
	}
}

// tell does not hold the lock, as a Service's Watch demands.
func (c *changes) tell(change mcp.Change) {
	c.mu.Lock()
	watchers := slices.Collect(maps.Keys(c.watchers))
	c.mu.Unlock()
	for _, watcher := range watchers {
		(*watcher)(change)
	}
}

// addChangeTools adds tools that change what the server offers. Each adds
// something at its first call, takes it away at the next, and so on.
func (e *everything) addChangeTools(b *toolbox) {
	const name = "test_transient_tool"
	transient, err := tools.Define(name, "Comes and goes with the calls of test_trigger_tool_change.", tools.KindRead,
		func(context.Context, none) (tools.Result, error) { return say("It is there now."), nil })
	if err != nil {
		b.add(nil, err)
		return
	}
	var mu sync.Mutex // of two calls at once
	b.add(tools.Define("test_trigger_tool_change", "Adds a tool, or takes it away again.", tools.KindThink,
		func(context.Context, none) (tools.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			if !e.registry.Unregister(name) {
				if err := e.registry.Register(transient); err != nil {
					return tools.Result{}, err
				}
			}
			e.changes.tell(mcp.Change{Tools: true})
			return say("The tools are others now."), nil
		}))

	b.add(tools.Define("test_trigger_prompt_change", "Adds a prompt, or takes it away again.", tools.KindThink,
		func(context.Context, none) (tools.Result, error) {
			e.prompts.toggle()
			e.changes.tell(mcp.Change{Prompts: true})
			return say("The prompts are others now."), nil
		}))
}

package main

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
)

// changes notifies watchers of changes. The zero value has no watchers.
type changes struct {
	mu       sync.Mutex
	watchers map[*func(mcp.Change)]struct{}
}

// watch implements the Watch of a Service.
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

// tell calls the watchers without the lock, as the Watch of a Service requires.
func (c *changes) tell(change mcp.Change) {
	c.mu.Lock()
	watchers := slices.Collect(maps.Keys(c.watchers))
	c.mu.Unlock()
	for _, watcher := range watchers {
		(*watcher)(change)
	}
}

// addChangeTools adds tools that change the server's features. Each adds a feature at
// its first call, removes it at the next, and so on.
func (e *everything) addChangeTools(b *toolbox) {
	const name = "test_transient_tool"
	transient, err := tools.Define(name, "Added and removed by test_trigger_tool_change.", tools.KindRead,
		func(context.Context, none) (tools.Result, error) { return say("The tool exists now."), nil })
	if err != nil {
		b.add(nil, err)
		return
	}
	var mu sync.Mutex // for concurrent calls
	b.add(tools.Define("test_trigger_tool_change", "Adds a tool, or removes it again.", tools.KindThink,
		func(context.Context, none) (tools.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			if !e.registry.Unregister(name) {
				if err := e.registry.Register(transient); err != nil {
					return tools.Result{}, err
				}
			}
			e.changes.tell(mcp.Change{Tools: true})
			return say("The list of tools has changed."), nil
		}))

	b.add(tools.Define("test_trigger_prompt_change", "Adds a prompt, or removes it again.", tools.KindThink,
		func(context.Context, none) (tools.Result, error) {
			e.prompts.toggle()
			e.changes.tell(mcp.Change{Prompts: true})
			return say("The list of prompts has changed."), nil
		}))
}

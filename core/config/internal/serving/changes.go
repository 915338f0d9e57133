package serving

import (
	"sync"

	"github.com/fettle-dev/fettle/core/mcp"
)

// Changes notifies its subscribers of changes of the served lists and resources. The zero value
// has no subscribers. It is safe for concurrent use.
type Changes struct {
	mu          sync.Mutex
	subscribers map[*func(mcp.Change)]struct{}
}

// subscribe has f called after each change, on the goroutine that made it, until
// stop is called; a running call may end later. f must not block.
func (c *Changes) subscribe(f func(mcp.Change)) (stop func()) {
	key := &f
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribers == nil {
		c.subscribers = make(map[*func(mcp.Change)]struct{})
	}
	c.subscribers[key] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.subscribers, key)
	}
}

// Tell notifies the subscribers of a change. It holds no lock during the calls.
func (c *Changes) Tell(what mcp.Change) {
	c.mu.Lock()
	all := make([]*func(mcp.Change), 0, len(c.subscribers))
	for f := range c.subscribers {
		all = append(all, f)
	}
	c.mu.Unlock()
	for _, f := range all {
		(*f)(what)
	}
}

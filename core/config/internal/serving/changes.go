package serving

import (
	"sync"

	"github.com/fettle-dev/fettle/core/mcp"
)

// Changes tells its subscribers what has changed of what is served. The zero value has
// none. It is safe for concurrent use.
type Changes struct {
	mu   sync.Mutex
	told map[*func(mcp.Change)]struct{}
}

// subscribe has f called after each change, on the goroutine that has made it,
// until stop is called; one that is being told meanwhile may still come. f must
// not block.
func (c *Changes) subscribe(f func(mcp.Change)) (stop func()) {
	key := &f
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil {
		c.told = make(map[*func(mcp.Change)]struct{})
	}
	c.told[key] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.told, key)
	}
}

// Tell says what has changed. It holds no lock while it does.
func (c *Changes) Tell(what mcp.Change) {
	c.mu.Lock()
	all := make([]*func(mcp.Change), 0, len(c.told))
	for f := range c.told {
		all = append(all, f)
	}
	c.mu.Unlock()
	for _, f := range all {
		(*f)(what)
	}
}

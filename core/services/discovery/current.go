package discovery

import (
	"context"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Current is a [Finder] that can be replaced: operations that begin after Set use
// the new one. Its zero value has none; Set must be called first. It is safe for
// concurrent use.
type Current struct{ now atomic.Pointer[Finder] }

// Get returns the current finder.
func (c *Current) Get() *Finder { return c.now.Load() }

// Set replaces the finder.
func (c *Current) Set(f *Finder) { c.now.Store(f) }

// Options returns the current options.
func (c *Current) Options() Options { return c.Get().Options() }

// Ignored calls [Finder.Ignored] of the finder that is current when the returned function is called.
func (c *Current) Ignored(ctx context.Context) func(path string) bool {
	return func(path string) bool { return c.Get().Ignored(ctx)(path) }
}

// In calls [Finder.In].
func (c *Current) In(ctx context.Context, dir workspace.Path) (*Scope, error) {
	return c.Get().In(ctx, dir)
}

// Find calls [Finder.Find].
func (c *Current) Find(ctx context.Context, r Find) (Found, error) { return c.Get().Find(ctx, r) }

// Search calls [Finder.Search].
func (c *Current) Search(ctx context.Context, s Search) (Results, error) {
	return c.Get().Search(ctx, s)
}

package config

import (
	"context"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Finder finds files of the workspace as the settings of the moment say: what
// begins after a reload goes by the new ones. It is [discovery.Finder] with
// changing options; a Config makes it. It is safe for concurrent use.
type Finder struct {
	now atomic.Pointer[discovery.Finder]
}

// Options returns what files are found by now.
func (f *Finder) Options() discovery.Options { return f.now.Load().Options() }

// In is [discovery.Finder.In].
func (f *Finder) In(ctx context.Context, dir workspace.Path) (*discovery.Scope, error) {
	return f.now.Load().In(ctx, dir)
}

// Find is [discovery.Finder.Find].
func (f *Finder) Find(ctx context.Context, r discovery.Find) (discovery.Found, error) {
	return f.now.Load().Find(ctx, r)
}

// Search is [discovery.Finder.Search].
func (f *Finder) Search(ctx context.Context, s discovery.Search) (discovery.Results, error) {
	return f.now.Load().Search(ctx, s)
}

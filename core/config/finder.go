package config

import (
	"context"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// finder finds files as the settings of the moment say, for the built-in tools.
type finder struct {
	now atomic.Pointer[discovery.Finder]
}

func (f *finder) Options() discovery.Options { return f.now.Load().Options() }

func (f *finder) In(ctx context.Context, dir workspace.Path) (*discovery.Scope, error) {
	return f.now.Load().In(ctx, dir)
}

func (f *finder) Find(ctx context.Context, r discovery.Find) (discovery.Found, error) {
	return f.now.Load().Find(ctx, r)
}

func (f *finder) Search(ctx context.Context, s discovery.Search) (discovery.Results, error) {
	return f.now.Load().Search(ctx, s)
}

package config

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/catalog"
)

// newCatalog makes what decides which tools this conversation's model is told of
// whole. Each Config has its own, so that none is told of what another searched for.
func (c *Config) newCatalog(s *session) *catalog.Catalog {
	return catalog.New(catalog.Options{
		Above: c.params().DeferSchemasAbove,
		Tools: func() []tools.DeclarativeTool {
			if s.registry == nil {
				return nil // it is being made
			}
			return s.registry.All()
		},
	})
}

// observeForeign has tools declared that are called without a search.
func (s *session) observeForeign(ctx context.Context, _ scheduler.Request) (context.Context, func(scheduler.Response)) {
	return ctx, func(r scheduler.Response) {
		if t, err := s.registry.Lookup(r.Tool); err == nil && t.Spec().Origin.Group == tools.GroupBuiltIn {
			return
		}
		if r.Result.Error == nil || r.Result.Error.Code != fault.ToolNotRegistered {
			s.catalog.Called(r.Tool)
		}
	}
}

// loadedIn returns the tools that a history shows to have been called or found by
// a search, so that a session which is resumed goes on with them.
func loadedIn(history []model.Content) []string {
	var names []string
	for _, turn := range history {
		for _, p := range turn.Parts {
			switch {
			case p.Call != nil:
				names = append(names, p.Call.Name)
			case p.Response != nil && p.Response.Name == catalog.ToolSearch:
				names = append(names, catalog.Names(outputOf(p.Response.Response))...)
			}
		}
	}
	return names
}

// grantSearch adds tool_search to the tools of an agent that has foreign ones, so
// that a list which names a server brings no more declarations than its caller
// has. It returns what it added.
func grantSearch(r *tools.Registry, has map[string]bool) []string {
	search, err := r.Lookup(catalog.ToolSearch)
	if err != nil || search.Spec().Origin.Group != tools.GroupBuiltIn || has[catalog.ToolSearch] {
		return nil
	}
	if !slices.ContainsFunc(r.All(), func(t tools.DeclarativeTool) bool {
		spec := t.Spec()
		return has[spec.Name] && spec.Origin.Group != tools.GroupBuiltIn
	}) {
		return nil
	}
	has[catalog.ToolSearch] = true
	return []string{catalog.ToolSearch}
}

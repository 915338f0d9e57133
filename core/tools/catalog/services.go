// Package catalog keeps the declarations of foreign tools from filling a model's
// context: beyond a size only their names are told, and the tool tool_search finds
// the declarations.
package catalog

import (
	"context"
	"sync"

	"github.com/fettle-dev/fettle/core/tools"
)

// Services are what a session lends to these tools.
type Services struct {
	Catalog *Catalog // the conversation's own; required
	// WhenShown calls shown once the conversation has received the result of the call
	// that ctx belongs to. nil: at once.
	WhenShown func(ctx context.Context, shown func())
}

// ToolSearch is the name of the tool.
const ToolSearch = "tool_search"

// Factory makes one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package, which all
// belong to a session that names none (AR-10). They are immutable and shared by
// every session of the process.
func Factories() ([]*Factory, error) { return factories() }

// factories builds the immutable factories once for the process.
var factories = sync.OnceValues(func() ([]*Factory, error) {
	f, err := newToolSearch()
	if err != nil {
		return nil, err
	}
	return []*Factory{f}, nil
})

func (s Services) whenShown(ctx context.Context, shown func()) {
	if s.WhenShown == nil {
		shown()
		return
	}
	s.WhenShown(ctx, shown)
}

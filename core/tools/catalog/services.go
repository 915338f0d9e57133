// Package catalog defers the declarations of foreign tools, so that they do not fill a model's context. Beyond a size
// limit the system prompt lists only their names, and the tool tool_search declares the ones that the model needs.
package catalog

import (
	"context"
	"sync"

	"github.com/fettle-dev/fettle/core/tools"
)

// Services are the session services of these tools.
type Services struct {
	Catalog *Catalog // of the conversation; required
	// WhenShown calls shown once the conversation has received the result of the call of ctx. nil: at once.
	WhenShown func(ctx context.Context, shown func())
}

// ToolSearch is the name of the tool.
const ToolSearch = "tool_search"

// Factory builds one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package, which all belong to the default set. They are immutable
// and shared by every session of the process.
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

// Package memory holds the tool that remembers facts for later sessions.
package memory

import (
	"context"
	"sync"

	"github.com/fettle-dev/fettle/core/services/memory"
	"github.com/fettle-dev/fettle/core/tools"
)

// Services are what a session lends to these tools; they must be safe for
// concurrent use.
type Services struct {
	Facts Facts // required
}

// Facts keeps facts in the user's context file; *memory.Service of the
// services has it. Its errors are *fault.Error.
type Facts interface {
	// Path returns the absolute context file, "" if there is none.
	Path() string
	// Preview returns what saving the fact would change now, and writes nothing.
	Preview(ctx context.Context, fact string) (memory.Change, error)
	// Save saves the fact on what the file holds then.
	Save(ctx context.Context, fact string) (memory.Change, error)
}

// SaveMemory is the name of the tool.
const SaveMemory = "save_memory"

// Factory makes one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package, which all
// belong to a session that names none (AR-10). They are immutable and shared by
// every session of the process.
func Factories() ([]*Factory, error) { return factories() }

// factories builds the immutable factories once for the process.
var factories = sync.OnceValues(func() ([]*Factory, error) {
	f, err := newSaveMemory()
	if err != nil {
		return nil, err
	}
	return []*Factory{f}, nil
})

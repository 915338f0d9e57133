// Package memory provides the tool save_memory, which saves facts for later sessions.
package memory

import (
	"context"
	"sync"

	"github.com/fettle-dev/fettle/core/internal/memory"
	"github.com/fettle-dev/fettle/core/tools"
)

// Services are the session services of these tools; they must be safe for concurrent use.
type Services struct {
	Facts Facts // required
}

// Facts stores facts in the user's context file; *memory.Service of the services implements it. Its errors are
// *fault.Error.
type Facts interface {
	// Path returns the absolute path of the context file, "" if there is none.
	Path() string
	// Preview returns the change that saving the fact would make now, and writes nothing.
	Preview(ctx context.Context, fact string) (memory.Change, error)
	// Save adds the fact to the current content of the file.
	Save(ctx context.Context, fact string) (memory.Change, error)
}

// SaveMemory is the name of the tool.
const SaveMemory = "save_memory"

// Factory builds one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package, which all belong to the default set. They are immutable
// and shared by every session of the process.
func Factories() ([]*Factory, error) { return factories() }

// factories builds the immutable factories once for the process.
var factories = sync.OnceValues(func() ([]*Factory, error) {
	f, err := newSaveMemory()
	if err != nil {
		return nil, err
	}
	return []*Factory{f}, nil
})

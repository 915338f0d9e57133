// Package internaldocs provides the tool get_internal_docs, which returns fettle's own documentation.
package internaldocs

import (
	"io/fs"
	"sync"

	"github.com/fettle-dev/fettle/core/tools"
)

// Services are the session services of these tools.
type Services struct {
	// Docs holds the documents, files named *.md at any depth, which must not change; required, and safe for concurrent
	// use.
	Docs fs.FS
}

// GetInternalDocs is the name of the tool.
const GetInternalDocs = "get_internal_docs"

// Factory builds one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package, which all belong to the default set. They are immutable
// and shared by every session of the process.
func Factories() ([]*Factory, error) { return factories() }

// factories builds the immutable factories once for the process.
var factories = sync.OnceValues(func() ([]*Factory, error) {
	f, err := newGetInternalDocs()
	if err != nil {
		return nil, err
	}
	return []*Factory{f}, nil
})

// Package search provides the tools that find files by name (glob) and by content (search_file_content).
package search

import (
	"context"
	"time"

	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// Services are the session services of these tools. All but Now and Results are required; all must be safe for
// concurrent use.
type Services struct {
	Paths   Paths
	Finder  Finder
	Visible Visibility
	Now     func() time.Time // nil: time.Now
	Results Results          // nil: results have 256 KiB of text
}

// Results returns the maximum size of the text of one result in bytes; *filestate.Service implements it.
type Results interface {
	ResultBytes() int
}

// Paths returns the directories of the workspace and resolves a path parameter inside one; *workspace.Workspace
// implements it.
type Paths interface {
	Directories() []string
	Resolve(path string) (workspace.Path, error)
	Stat(p workspace.Path) (workspace.Info, error)
}

// Finder finds files that are not ignored; *discovery.Finder implements it.
type Finder interface {
	Find(ctx context.Context, r discovery.Find) (discovery.Found, error)
	Search(ctx context.Context, s discovery.Search) (discovery.Results, error)
	Options() discovery.Options
}

// Visibility reports which files the model may see without approval; *filestate.Service implements it.
type Visibility interface {
	MayShow(p workspace.Path) bool
}

// The names of the tools.
const (
	Glob              = "glob"
	SearchFileContent = "search_file_content"
	GrepSearch        = "grep_search" // alias of SearchFileContent
)

// Factory builds one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package, which all belong to the default set. They are immutable
// and shared by every session of the process.
func Factories() ([]*Factory, error) { return factories() }

// resultBytes returns the maximum size of the text of one result.
func (s Services) resultBytes() int {
	if s.Results == nil {
		return noLimit
	}
	return s.Results.ResultBytes()
}

// noLimit exceeds the size of any result.
const noLimit = 1 << 30

func (s Services) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

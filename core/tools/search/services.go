// Package search holds the tools that find files by name and by what is in
// them.
package search

import (
	"context"
	"time"

	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// Services are what a session lends to these tools. All but Now and Results are required;
// every one must be safe for concurrent use.
type Services struct {
	Paths   Paths
	Finder  Finder
	Visible Visibility
	Now     func() time.Time // nil: time.Now
	Results Results          // nil: results have 256 KiB of text
}

// Results tells how many bytes the text of one result may have; *filestate.Service
// has it.
type Results interface {
	ResultBytes() int
}

// Paths knows the directories of the workspace and turns a path parameter into a
// name inside one (TO-01); *workspace.Workspace has it.
type Paths interface {
	Folders() []string
	Resolve(path string) (workspace.Path, error)
	Stat(p workspace.Path) (workspace.Info, error)
}

// Finder finds what is not ignored; *discovery.Finder has it.
type Finder interface {
	Find(ctx context.Context, r discovery.Find) (discovery.Found, error)
	Search(ctx context.Context, s discovery.Search) (discovery.Results, error)
	Options() discovery.Options
}

// Visibility knows of which files the model may see anything without somebody
// being asked (PR-29); *filestate.Service has it.
type Visibility interface {
	MayShow(p workspace.Path) bool
}

// The names of the tools.
const (
	Glob              = "glob"
	SearchFileContent = "search_file_content"
	GrepSearch        = "grep_search" // another name of SearchFileContent
)

// Factory makes one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package, which all
// belong to a session that names none (AR-10). They are immutable and shared
// by every session of the process.
func Factories() ([]*Factory, error) { return factories() }

// resultBytes returns how many bytes the text of one result may have.
func (s Services) resultBytes() int {
	if s.Results == nil {
		return noLimit
	}
	return s.Results.ResultBytes()
}

// noLimit is more than any result has.
const noLimit = 1 << 30

func (s Services) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// Package file holds the tools that read, list and change files. Each hands
// the work to the services of the session that it is bound to and gives the
// answer its form.
package file

import (
	"context"
	"math"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// Services are what a session lends to these tools. All but Access, Apply
// and Results are required; every one must be safe for concurrent use.
type Services struct {
	Paths   Paths
	Reader  Reader
	Mutator Mutator
	Folders Folders
	Finder  Finder
	Access  Access        // told of each successful access; nil: nobody
	Apply   patch.Applier // nil: patch.ApplyStrict
	Results Results       // nil: results have no limit of their own
}

// Results tells how many bytes the text of one result may have, as JSON;
// *filestate.Service has it.
type Results interface {
	ResultBytes() int
}

// Paths turns a path parameter into a name inside the workspace (TO-01);
// *workspace.Workspace has it.
type Paths interface {
	Resolve(path string) (workspace.Path, error)
}

// Reader builds state objects (FS-24); *filestate.Service has it.
type Reader interface {
	Read(ctx context.Context, r filestate.ReadRequest) (*filestate.Read, error)
	// MayShow reports whether read_file would show the file without asking
	// anybody (PR-29).
	MayShow(p workspace.Path) bool
}

// Mutator changes files; *mutation.Service has it.
type Mutator interface {
	Plan(ctx context.Context, r mutation.Request) *mutation.Plan
	Commit(ctx context.Context, p *mutation.Plan) mutation.Outcome
}

// Folders lists a directory; *workspace.Workspace has it.
type Folders interface {
	Stat(p workspace.Path) (workspace.Info, error)
	ReadDir(ctx context.Context, p workspace.Path) ([]workspace.Entry, error)
}

// Finder finds files by glob and knows what is ignored; *discovery.Finder has
// it.
type Finder interface {
	// Find returns the files that match a pattern and are not ignored, unless
	// the pattern names their directory.
	Find(ctx context.Context, r discovery.Find) (discovery.Found, error)
	// In returns what ignore rules say about the names in a directory.
	In(ctx context.Context, dir workspace.Path) (*discovery.Scope, error)
	// Options returns the caps of one answer.
	Options() discovery.Options
}

// Access is told when a tool has shown or changed a file (FT-16).
type Access interface {
	Accessed(ctx context.Context, p workspace.Path)
}

// The names of the tools.
const (
	ReadFile      = "read_file"
	ReadManyFiles = "read_many_files"
	ListDirectory = "list_directory"
	SafePatch     = "safe_patch"
	WriteFile     = "write_file"
	Edit          = "edit"
)

// Factory makes one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package, with
// InDefaultSet telling which belong to a session that names none (AR-10).
// The factories are immutable and shared by every session of the process.
func Factories() ([]*Factory, error) { return factories() }

// InDefaultSet reports whether a tool is registered where coreTools is absent.
func InDefaultSet(name string) bool { return name != Edit }

// resultBytes returns how many bytes the text of one result may have.
func (s Services) resultBytes() int {
	if s.Results == nil {
		return math.MaxInt32
	}
	return s.Results.ResultBytes()
}

func (s Services) accessed(ctx context.Context, p workspace.Path) {
	if s.Access != nil {
		s.Access.Accessed(ctx, p)
	}
}

// asFault gives an error a class; an ended ctx is cancelled.
func asFault(ctx context.Context, op string, code fault.Code, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	if ctx.Err() != nil {
		return fault.Wrap(fault.Cancelled, op, "The call was cancelled.", "", err)
	}
	return fault.Wrap(code, op, err.Error(), "", err)
}

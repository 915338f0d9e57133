// Package file provides the tools that read, list and change files: read_file, read_many_files, list_directory,
// write_file, safe_patch, edit, apply_patch and str_replace_based_edit_tool. The services of the session do the work; the tools validate parameters and format the
// results.
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

// Services are the session services of these tools. All but Hashes, Access, Apply, Results and Retries are required; all
// must be safe for concurrent use.
type Services struct {
	Paths       Paths
	Reader      Reader
	Mutator     Mutator
	Directories Directories
	Finder      Finder
	Hashes      Hashes                                             // nil: no hash may be shortened
	Access      Access                                             // called for each successful access; nil: none
	Apply       func(base string, c *patch.Change) (string, error) // nil: patch.ApplyStrict
	Results     Results                                            // nil: results have no limit of their own
	Retries     Retries                                            // nil: there are no retry tokens
}

// Results returns the maximum size of the text of one result, as JSON, in bytes; *filestate.Service implements it.
type Results interface {
	ResultBytes() int
}

// Retries keeps the changes behind retry tokens; *filestate.Service implements it.
type Retries interface {
	// OfferRetry returns the token for a refused change, carried over to contents with the hashes bases, by absolute path.
	OfferRetry(ctx context.Context, tool, patch string, bases map[string]string) (token string)
	// Retry returns the change of a valid token that was offered for the tool.
	Retry(tool, token string) (patch string, bases map[string]string, ok bool)
	// ClaimRetry makes a token invalid, and reports whether it was valid.
	ClaimRetry(token string) bool
}

// Paths resolves a path parameter inside the workspace; *workspace.Workspace implements it.
type Paths interface {
	Resolve(path string) (workspace.Path, error)
}

// Reader builds state objects; *filestate.Service implements it.
type Reader interface {
	Read(ctx context.Context, r filestate.ReadRequest) (*filestate.Read, error)
	// Ahead may read the file of r in advance, so that Read of the returned request need not. It records nothing, and may
	// return r. It is called on several goroutines, and not every request is read.
	Ahead(ctx context.Context, r filestate.ReadRequest) filestate.ReadRequest
	// MayShow reports whether read_file would show the file without approval.
	MayShow(p workspace.Path) bool
}

// Hashes expands shortened hashes; *filestate.Service implements it.
type Hashes interface {
	// FullHash returns all digits of a hash that a call passes for the file at p, in lower case.
	FullHash(p workspace.Path, hash string) (string, error)
}

// Mutator changes files; *mutation.Service implements it.
type Mutator interface {
	Plan(ctx context.Context, r mutation.Request) *mutation.Plan
	Commit(ctx context.Context, p *mutation.Plan) mutation.Outcome
	PlanSet(ctx context.Context, requests []mutation.Request) (plans []*mutation.Plan, refused *mutation.SetOutcome)
	CommitSet(ctx context.Context, plans []*mutation.Plan) *mutation.SetOutcome
}

// Directories lists a directory; *workspace.Workspace implements it.
type Directories interface {
	Stat(p workspace.Path) (workspace.Info, error)
	ReadDir(ctx context.Context, p workspace.Path) ([]workspace.Entry, error)
}

// Finder finds files by glob and applies ignore rules; *discovery.Finder implements it.
type Finder interface {
	// Find returns the files that match a pattern and are not ignored, unless the pattern names their directory.
	Find(ctx context.Context, r discovery.Find) (discovery.Found, error)
	// In returns the ignore rules for the names in a directory.
	In(ctx context.Context, dir workspace.Path) (*discovery.Scope, error)
	// Options returns the limits of one result.
	Options() discovery.Options
}

// Access is notified when a tool has shown or changed a file.
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
	ApplyPatch    = "apply_patch"
	TextEditor    = "str_replace_based_edit_tool"
)

// Factory builds one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package; InDefaultSet reports which belong to the default set.
// They are immutable and shared by every session of the process.
func Factories() ([]*Factory, error) { return factories() }

// InDefaultSet reports whether a tool is registered if coreTools is absent.
func InDefaultSet(name string) bool { return name != Edit && name != ApplyPatch && name != TextEditor }

// resultBytes returns the maximum size of the text of one result.
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

// asFault classifies an error; an ended ctx is a cancellation.
func asFault(ctx context.Context, op string, code fault.Code, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	if ctx.Err() != nil {
		return fault.Wrap(fault.Cancelled, op, "The call was cancelled.", "", err)
	}
	return fault.Wrap(code, op, err.Error(), "", err)
}

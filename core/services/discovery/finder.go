// Package discovery finds files and what is in them: it walks a workspace,
// matches globs, searches contents, and leaves out what ignore rules cover.
package discovery

import (
	"context"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// DefaultMaxFiles is how many files one answer holds unless [Options] says
// otherwise.
const DefaultMaxFiles = 20_000

// Options set what a Finder leaves out. The zero value goes by .gitignore
// files alone.
type Options struct {
	// IgnoreFile is the base name of a further ignore file, in the syntax of
	// .gitignore and like it allowed in any directory. What it says, negations
	// included, goes before what git's files say. "": none.
	IgnoreFile string
	// CustomFiles are paths of more ignore files, absolute or relative to the
	// target directory. They count from the root of each workspace directory and go
	// before all others, the first before the next. One that is missing or
	// outside the workspace ignores nothing.
	CustomFiles []string
	// NoGitIgnore leaves .gitignore and .git/info/exclude unread (CF-04:
	// fileFiltering.respectGitIgnore is false).
	NoGitIgnore bool
	// MaxFiles is how many files one answer holds (CF-04,
	// fileFiltering.maxFileCount). Zero or less: [DefaultMaxFiles].
	MaxFiles int
}

// MaxFileCount returns MaxFiles with its default.
func (o Options) MaxFileCount() int {
	if o.MaxFiles <= 0 {
		return DefaultMaxFiles
	}
	return o.MaxFiles
}

// Finder finds files below the directories of a workspace and leaves out what is
// ignored. Rules are those of git: a .gitignore in any directory, a repository's
// .git/info/exclude, an ignored directory is never opened, and below a directory
// that is a repository of its own only that one's rules count. They hold
// without a repository too. Where a workspace directory is a part of a repository,
// the .gitignore files above it count up to the repository's root; what they
// say of the directory itself does not. Nothing else outside of the workspace is
// read, as core.excludesFile is not. .git is never entered. A path that the
// caller names is not ignored.
//
// Ignore files are read anew by every call. A Finder holds nothing open and is
// safe for concurrent use.
type Finder struct {
	files   *workspace.Workspace
	options Options
}

// New returns a Finder with the zero Options. It does no I/O.
func New(files *workspace.Workspace) *Finder { return &Finder{files: files} }

// With returns a Finder over the same workspace with other options.
func (f *Finder) With(o Options) *Finder { return &Finder{f.files, o} }

// Options returns the options in force.
func (f *Finder) Options() Options { return f.options }

// In returns what ignore rules say about the names in a directory that the caller
// names. Errors are those of [workspace.Workspace.Stat], and cancelled.
func (f *Finder) In(ctx context.Context, dir workspace.Path) (*Scope, error) {
	scope, folder, err := f.scopeOf(ctx, dir, true)
	if err != nil {
		return nil, err
	}
	folder.Close()
	return scope, nil
}

// Why returns which line of which file ignores p, a directory if isDir, itself or
// by a directory above it. p need not exist. The error is of code cancelled.
func (f *Finder) Why(ctx context.Context, p workspace.Path, isDir bool) (Verdict, error) {
	if p.Rel() == "." {
		return Verdict{}, nil
	}
	dir, err := f.files.Resolve(filepath.Dir(p.String()))
	if err != nil {
		return Verdict{}, err
	}
	scope, folder, err := f.scopeOf(ctx, dir, false)
	if scope == nil {
		return Verdict{}, err
	}
	if folder != nil {
		folder.Close()
	}
	if scope.Folder.Ignored {
		return scope.Folder, nil
	}
	return scope.Check(p.Base(), isDir), nil
}

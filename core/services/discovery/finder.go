// Package discovery finds files and lines of files.
//
// A [Finder] walks a workspace ([Finder.Walk]), matches globs ([Finder.Find]) and searches contents
// ([Finder.Search]). It applies the ignore rules of git and of further ignore files.
package discovery

import (
	"context"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// DefaultMaxFiles is the default of Options.MaxFiles.
const DefaultMaxFiles = 20_000

// Options configure the ignore rules of a Finder. The zero value applies only .gitignore files.
type Options struct {
	// IgnoreFile is the base name of an additional ignore file, with the syntax of .gitignore and
	// allowed in any directory. Its rules, including negations, take precedence over those of git's
	// files. "": none.
	IgnoreFile string
	// CustomFiles are paths of further ignore files, absolute or relative to the target directory.
	// They apply from the root of each workspace directory and take precedence over all others, the
	// first over the next. A file that is missing or outside of the workspace is skipped.
	CustomFiles []string
	// NoGitIgnore disables .gitignore and .git/info/exclude (setting
	// fileFiltering.respectGitIgnore: false).
	NoGitIgnore bool
	// MaxFiles is the maximum number of files in one result (setting fileFiltering.maxFileCount).
	// Zero or less: [DefaultMaxFiles].
	MaxFiles int
}

// MaxFileCount returns MaxFiles with its default.
func (o Options) MaxFileCount() int {
	if o.MaxFiles <= 0 {
		return DefaultMaxFiles
	}
	return o.MaxFiles
}

// Finder finds files below the directories of a workspace that are not ignored. The rules are those
// of git: a .gitignore in any directory, a repository's .git/info/exclude; an ignored directory is
// never opened, and in a nested repository only its own rules apply. They also apply without a
// repository. If a workspace directory is inside a repository, the .gitignore files above it apply
// up to the repository's root, but not to the directory itself. No other file outside of the
// workspace is read, in particular not core.excludesFile. .git is never entered. A path that the
// caller names is not ignored.
//
// Ignore files are read by every call. A Finder holds nothing open and is safe for concurrent use.
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

// Ignored returns a function that reports whether git ignores an absolute path of a file of the workspace. Of a path outside
// of it, or one whose rules cannot be read, it reports false.
func (f *Finder) Ignored(ctx context.Context) func(path string) bool {
	return func(path string) bool {
		p, err := f.files.Resolve(path)
		if err != nil {
			return false
		}
		v, err := f.Why(ctx, p, false)
		return err == nil && v.Ignored
	}
}

// In returns the ignore rules for the names in a directory that the caller names. Errors are those
// of [workspace.Workspace.Stat], and cancelled.
func (f *Finder) In(ctx context.Context, dir workspace.Path) (*Scope, error) {
	scope, directory, err := f.scopeOf(ctx, dir, true)
	if err != nil {
		return nil, err
	}
	directory.Close()
	return scope, nil
}

// Why returns the line of the ignore file that ignores p, a directory if isDir, either itself or by
// a parent directory. p need not exist. The error is of code cancelled.
func (f *Finder) Why(ctx context.Context, p workspace.Path, isDir bool) (Verdict, error) {
	if p.Rel() == "." {
		return Verdict{}, nil
	}
	dir, err := f.files.Resolve(filepath.Dir(p.String()))
	if err != nil {
		return Verdict{}, err
	}
	scope, directory, err := f.scopeOf(ctx, dir, false)
	if scope == nil {
		return Verdict{}, err
	}
	if directory != nil {
		directory.Close()
	}
	if scope.Directory.Ignored {
		return scope.Directory, nil
	}
	return scope.Check(p.Base(), isDir), nil
}

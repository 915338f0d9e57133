// Package contextfiles finds the instruction files of a session.
package contextfiles

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/config/internal/contributions"
	"github.com/fettle-dev/fettle/core/config/internal/paths"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Finder finds the instruction files of a session.
type Finder struct {
	Workspace   *workspace.Workspace
	ContextFile string   // base name of the layout's own
	Names       []string // base names; nil: the layout's own and AGENTS.md
	Imports     instructions.Imports
	Boundary    []string // names that mark the end of the upward search; nil: .git
	UserDir     string   // the user's settings directory; "": there is none
	Home        string   // the home directory; "": there is none
	Untrusted   bool     // the project's files are ignored
	Extensions  []contributions.File
	MayShow     func(path string) bool // reports whether a file may be shown without approval
}

func (f Finder) names() []string {
	if f.Names == nil {
		return []string{f.ContextFile, "AGENTS.md"}
	}
	return f.Names
}

func (f Finder) options() instructions.Options {
	mayShow := f.MayShow
	return instructions.Options{Names: f.names(), Imports: f.Imports, MayShow: func(p workspace.Path) bool { return mayShow(p.String()) }}
}

// Accessed returns the finder for file accesses. It finds the instruction files
// of the project's own directories, but not those of directories that the session
// may only read, such as those of skills.
func (f Finder) Accessed() Accessed {
	return Accessed{f.Workspace, instructions.New(f.Workspace, f.options())}
}

// Accessed finds the instruction files that apply to an accessed file.
type Accessed struct {
	workspace *workspace.Workspace
	finder    *instructions.Finder
}

// For calls [instructions.Finder.For].
func (a Accessed) For(ctx context.Context, path workspace.Path, known func(key string) bool) ([]instructions.Document, error) {
	if a.workspace.IsReadOnly(path) {
		return nil, nil
	}
	return a.finder.For(ctx, path, known)
}

// In finds the current instruction files that apply in a directory, as For does for a file there. It finds
// none if the directory does not exist any more.
func (f Finder) In(ctx context.Context, dir string, known func(key string) bool) ([]instructions.Document, error) {
	if f.Untrusted {
		return nil, nil
	}
	p, err := f.Workspace.Resolve(filepath.Join(dir, f.ContextFile))
	if err != nil {
		return nil, nil
	}
	return f.Accessed().For(ctx, p, known)
}

// Start finds the initial instruction files: the user's own, those of extensions,
// then for each directory of the workspace those from its boundary down to it. In
// an untrusted directory the last group is omitted.
func (f Finder) Start(ctx context.Context, known func(key string) bool) ([]instructions.Document, error) {
	var found []instructions.Document
	seen := func(key string) bool {
		return known(key) || slices.ContainsFunc(found, func(d instructions.Document) bool { return d.Key == key })
	}
	add := func(top, dir string) error {
		docs, err := f.in(ctx, top, dir, seen)
		found = append(found, docs...)
		return err
	}
	if f.UserDir != "" {
		if err := add(f.UserDir, f.UserDir); err != nil {
			return nil, err
		}
	}
	for _, file := range f.Extensions {
		docs, err := f.ofExtension(ctx, file, seen)
		if err != nil {
			return nil, err
		}
		found = append(found, docs...)
	}
	if f.Untrusted {
		return found, nil
	}
	for _, dir := range f.Workspace.Directories() {
		if paths.Same(dir, f.UserDir) {
			continue
		}
		if err := add(f.boundaryOf(dir), dir); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// in finds the instruction files in the directories from top down to dir,
// which lies below top.
func (f Finder) in(ctx context.Context, top, dir string, known func(key string) bool) ([]instructions.Document, error) {
	ws := f.Workspace // which may show a fork
	if !slices.Contains(ws.Directories(), top) {
		var err error
		if ws, err = workspace.Open(top); err != nil {
			return nil, nil // it does not exist
		}
		defer ws.Close() //nolint:errcheck // nothing was written
	}
	o := f.options()
	o.MayShow = func(p workspace.Path) bool { // read_file shows nothing outside of the workspace; here Markdown is permitted
		if _, err := f.Workspace.Resolve(p.String()); err != nil {
			return filepath.Ext(p.Base()) == ".md"
		}
		return f.MayShow(p.String())
	}
	p, err := ws.Resolve(filepath.Join(dir, f.ContextFile))
	if err != nil {
		return nil, nil
	}
	return instructions.New(ws, o).For(ctx, p, known)
}

// boundaryOf returns the nearest directory, from the given one upwards, that
// contains a mark, or else the directory itself. Directories and marks of another
// owner are ignored, as by git.
func (f Finder) boundaryOf(dir string) string {
	marks := f.Boundary
	if marks == nil {
		marks = []string{".git"}
	}
	own, err := os.Stat(dir)
	if err != nil {
		return dir
	}
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err != nil || !sameOwner(own, info) {
			return dir
		}
		for _, mark := range marks {
			if info, err := os.Lstat(filepath.Join(at, mark)); err == nil && sameOwner(own, info) {
				return at
			}
		}
		if filepath.Dir(at) == at || paths.Same(at, f.Home) {
			return dir
		}
	}
}

// ofExtension returns a context file of an extension.
func (f Finder) ofExtension(ctx context.Context, file contributions.File, known func(key string) bool) ([]instructions.Document, error) {
	ws, err := workspace.Open(filepath.Dir(file.Path))
	if err != nil {
		return nil, nil // it does not exist any more
	}
	defer ws.Close() //nolint:errcheck // nothing was written
	p, err := ws.Resolve(file.Path)
	if err != nil {
		return nil, nil
	}
	return instructions.New(ws, instructions.Options{
		Names: []string{filepath.Base(file.Path)}, Imports: f.Imports,
		MayShow: func(p workspace.Path) bool { return p.String() == file.Path || filepath.Ext(p.Base()) == ".md" },
	}).For(ctx, p, known)
}

// Paths returns the possible paths of initial instruction files, whether or not
// they exist.
func (f Finder) Paths() []string {
	var paths []string
	in := func(dir string) {
		for _, name := range f.names() {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	if f.UserDir != "" {
		in(f.UserDir)
	}
	if f.Untrusted {
		return paths
	}
	for _, directory := range f.Workspace.Directories() {
		top := f.boundaryOf(directory)
		for at := directory; ; at = filepath.Dir(at) {
			in(at)
			if at == top || filepath.Dir(at) == at {
				break
			}
		}
	}
	return paths
}

// Package instructions finds the files with instructions for work in a directory, such as
// AGENTS.md, and resolves their imports.
package instructions

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// spellings of AGENTS.md are tried in each directory. Listing a large directory would be slow.
var spellings = []string{"AGENTS.md", "agents.md", "Agents.md"}

// IsFile reports whether a base name is that of an instruction file: agents.md in any letter case.
func IsFile(base string) bool { return strings.EqualFold(base, "agents.md") }

// Document is one instruction file.
type Document struct {
	Path string // absolute
	Text string
	Key  string // equal for two names of one file
}

// Files accesses the file system; *workspace.Workspace implements it.
type Files interface {
	Resolve(path string) (workspace.Path, error)
	// Existing returns those of the names that may exist in a directory.
	Existing(dir workspace.Path, names []string) ([]string, error)
	// Stat follows links and does not open the file.
	Stat(p workspace.Path) (workspace.Info, error)
	// OpenRead opens a file for reading without blocking.
	OpenRead(p workspace.Path) (*os.File, error)
	// RealPath resolves the links of a path.
	RealPath(path string) (string, error)
}

// Options configure a [Finder]. The zero value finds AGENTS.md and inserts its imports.
type Options struct {
	// Names are the base names of instruction files, in the order of their documents within a
	// directory. A name that is agents.md in any letter case represents all usual spellings. nil:
	// AGENTS.md.
	Names   []string
	Imports Imports
	// MayShow reports whether an imported file, or the target of a link with the name of an
	// instruction file, may be shown. nil: all files of the workspace.
	MayShow func(p workspace.Path) bool
}

// Finder finds instruction files in a workspace. It keeps no state and is safe for concurrent use.
type Finder struct {
	files Files
	o     Options
}

// New returns a Finder.
func New(files Files, o Options) *Finder {
	if o.Names == nil {
		o.Names = spellings[:1]
	}
	var names []string
	for _, name := range o.Names {
		if IsFile(name) {
			names = append(names, spellings...)
			continue
		}
		names = append(names, name)
	}
	o.Names = names
	return &Finder{files, o}
}

// For returns the instruction files of p's directory and of its ancestors up to the workspace
// directory, the outermost first. Two names of one file count once. A file whose key is known is
// omitted and not opened, so that a further call needs only stat calls; known may be nil.
// Unreadable directories and files are skipped. The error has code cancelled.
func (f *Finder) For(ctx context.Context, p workspace.Path, known func(key string) bool) ([]Document, error) {
	var found []Document
	seen := make(map[string]bool)
	skip := func(key string) bool { return seen[key] || known != nil && known(key) }
	for _, dir := range ancestors(p) {
		if err := ctx.Err(); err != nil {
			return nil, fault.Wrap(fault.Cancelled, "instructions.find", "The search for instruction files was cancelled.", "", err)
		}
		for _, name := range f.existing(dir) {
			if doc, ok := f.read(filepath.Join(dir, name), skip); ok {
				seen[doc.Key] = true
				found = append(found, f.expanded(doc))
			}
		}
	}
	return found, nil
}

// existing returns the names of instruction files that may exist in a directory.
func (f *Finder) existing(dir string) []string {
	p, err := f.files.Resolve(dir)
	if err != nil {
		return nil
	}
	names, err := f.files.Existing(p, f.o.Names)
	if err != nil {
		return nil
	}
	return names
}

// ancestors returns the directories from the workspace directory down to that of p.
func ancestors(p workspace.Path) []string {
	dirs := []string{p.Root()}
	at := p.Root()
	parts := strings.Split(p.Rel(), "/")
	for _, part := range parts[:len(parts)-1] {
		at = filepath.Join(at, part)
		dirs = append(dirs, at)
	}
	return dirs
}

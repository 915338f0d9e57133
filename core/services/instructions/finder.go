// Package instructions finds the files that steer work in a directory, as
// AGENTS.md, and puts in what they import.
package instructions

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// spellings of AGENTS.md are tried in each directory. A listing, which would be
// dear in a large directory, is not made.
var spellings = []string{"AGENTS.md", "agents.md", "Agents.md"}

// IsFile reports whether a base name is that of an instruction file: agents.md
// in any letter case.
func IsFile(base string) bool { return strings.EqualFold(base, "agents.md") }

// Document is one instruction file.
type Document struct {
	Path string // absolute
	Text string
	Key  string // the same for two names of one file
}

// Files is all that this package asks of a disk; *workspace.Workspace has it.
type Files interface {
	Resolve(path string) (workspace.Path, error)
	// Stat follows links and does not open the file.
	Stat(p workspace.Path) (workspace.Info, error)
	// OpenRead opens for reading without ever blocking.
	OpenRead(p workspace.Path) (*os.File, error)
}

// Options say what a [Finder] looks for. The zero value is AGENTS.md, with what
// it imports in its place.
type Options struct {
	// Names are base names of instruction files, in the order in which those of
	// one directory are given; one that is agents.md in any letter case stands for
	// that file in its usual spellings. nil: AGENTS.md alone.
	Names   []string
	Imports Imports
	// MayShow reports whether a file may be shown that is imported, or that a link
	// in the place of an instruction file leads to. nil: all files of the
	// workspace.
	MayShow func(p workspace.Path) bool
}

// Finder finds instruction files inside a workspace. It keeps nothing and is
// safe for concurrent use.
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

// For returns the instruction files of p's directory and of every directory above
// it up to the workspace directory, parents first. Two names of one file
// count once. A file whose key known reports is left out and not opened, so
// that asking again costs stats alone; known may be nil. A directory or file that
// cannot be read is passed over; the error is of code cancelled.
func (f *Finder) For(ctx context.Context, p workspace.Path, known func(key string) bool) ([]Document, error) {
	var found []Document
	seen := make(map[string]bool)
	pass := func(key string) bool { return seen[key] || known != nil && known(key) }
	for _, dir := range ancestors(p) {
		if err := ctx.Err(); err != nil {
			return nil, fault.Wrap(fault.Cancelled, "instructions.find", "Looking for instruction files was cancelled.", "", err)
		}
		for _, name := range f.o.Names {
			if doc, ok := f.read(filepath.Join(dir, name), pass); ok {
				seen[doc.Key] = true
				found = append(found, f.expanded(doc))
			}
		}
	}
	return found, nil
}

// ancestors returns the directories from the workspace directory down to p's own.
func ancestors(p workspace.Path) []string {
	dirs := []string{p.Folder()}
	at := p.Folder()
	parts := strings.Split(p.Rel(), "/")
	for _, part := range parts[:len(parts)-1] {
		at = filepath.Join(at, part)
		dirs = append(dirs, at)
	}
	return dirs
}

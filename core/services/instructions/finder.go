// Package instructions finds the agents.md files that steer work on a file.
package instructions

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// names are the spellings tried in each folder. A listing, which would be
// dear in a large folder, is not made.
var names = [...]string{"AGENTS.md", "agents.md", "Agents.md"}

// IsFile reports whether a base name is that of an instruction file: agents.md
// in any letter case (FT-19).
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

// Finder finds instruction files inside a workspace. It keeps nothing and is
// safe for concurrent use.
type Finder struct {
	files Files
}

// New returns a Finder.
func New(files Files) *Finder { return &Finder{files} }

// For returns the instruction files of p's folder and of every folder above
// it up to the workspace folder, parents first (FT-12). Two names of one file
// count once. A file whose key known reports is left out and not opened, so
// that asking again costs stats alone; known may be nil. A folder or file that
// cannot be read is passed over; the error is of code cancelled.
func (f *Finder) For(ctx context.Context, p workspace.Path, known func(key string) bool) ([]Document, error) {
	var found []Document
	seen := make(map[string]bool)
	pass := func(key string) bool { return seen[key] || known != nil && known(key) }
	for _, dir := range ancestors(p) {
		if err := ctx.Err(); err != nil {
			return nil, fault.Wrap(fault.Cancelled, "instructions.find", "Looking for agents.md was cancelled.", "", err)
		}
		for _, name := range names {
			if doc, ok := f.read(filepath.Join(dir, name), pass); ok {
				seen[doc.Key] = true
				found = append(found, doc)
			}
		}
	}
	return found, nil
}

// ancestors returns the folders from the workspace folder down to p's own.
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

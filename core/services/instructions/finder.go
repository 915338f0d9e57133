// Package instructions finds the agents.md files that steer work on a file.
package instructions

import (
	"context"
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

// Finder finds instruction files inside a workspace. It keeps nothing and is
// safe for concurrent use.
type Finder struct {
	files *workspace.Workspace
}

// New returns a Finder.
func New(files *workspace.Workspace) *Finder { return &Finder{files} }

// For returns the instruction files of p's folder and of every folder above
// it up to the workspace folder, parents first (FT-12). Two names of one file
// count once. A folder or file that cannot be read is passed over; the error
// is of code cancelled.
func (f *Finder) For(ctx context.Context, p workspace.Path) ([]Document, error) {
	var found []Document
	seen := make(map[string]bool)
	for _, dir := range ancestors(p) {
		if err := ctx.Err(); err != nil {
			return nil, fault.Wrap(fault.Cancelled, "instructions.find", "Looking for agents.md was cancelled.", "", err)
		}
		for _, name := range names {
			doc, ok := f.read(filepath.Join(dir, name))
			if ok && !seen[doc.Key] {
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

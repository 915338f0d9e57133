// Package prompts writes the texts for the model: the system prompt, and prompts
// with their references expanded.
package prompts

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/core/internal/prompt"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// System contains the sources of a system prompt in addition to the
// [prompt.Facts] of the session.
type System struct {
	Facts     prompt.Facts
	Workspace *workspace.Workspace
	Registry  *tools.Registry
	Servers   *mcp.Manager // nil: there are none
	Documents []instructions.Document
}

// Write returns the system prompt.
func (s System) Write() string {
	f := s.Facts
	f.Directories, f.System, f.GitRepo = s.Workspace.Directories(), runtime.GOOS, inRepository(s.Workspace.Target())
	if f.Today.IsZero() {
		f.Today = time.Now()
	}
	if s.Servers != nil {
		f.Servers = serverNotes(s.Servers.Instructions(), s.Registry)
	}
	for _, d := range s.Documents {
		f.Documents = append(f.Documents, prompt.Document{Path: d.Path, Text: d.Text})
	}
	return prompt.System(f)
}

// serverNotes returns the instructions of the servers that have a tool here.
func serverNotes(by map[string]string, r *tools.Registry) []prompt.Server {
	var notes []prompt.Server
	for _, t := range r.All() {
		server := t.Spec().Origin.Server // in listing order, by server
		text := by[server]
		if server == "" || text == "" || slices.ContainsFunc(notes, func(n prompt.Server) bool { return n.Name == server }) {
			continue
		}
		notes = append(notes, prompt.Server{Name: server, Instructions: text})
	}
	return notes
}

// Declared returns the names of the tools declared to the model.
func Declared(r *tools.Registry) []string {
	var names []string
	for _, d := range r.Declarations() {
		names = append(names, d.Name)
	}
	return names
}

// inRepository reports whether a directory lies in a git repository.
func inRepository(dir string) bool {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return true
		}
		if filepath.Dir(at) == at {
			return false
		}
	}
}

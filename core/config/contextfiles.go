package config

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Instructions say which files steer the model, and how. The zero value is the
// layout's own file and AGENTS.md, in the system prompt.
type Instructions struct {
	// Names are base names of such files. nil: the settings', else the layout's
	// context file and AGENTS.md; empty: there are none.
	Names   []string
	Imports instructions.Imports // what becomes of @path in them
	// Boundary are names that mark the folder in which the search upwards from a
	// workspace folder ends, as .git does. nil: the settings', else .git; empty:
	// each workspace folder is its own end. So is it where no folder above holds
	// one of them, up to the home folder and as far as folders and marks belong to
	// the owner of the workspace folder, so that nobody else's files steer.
	Boundary []string
	// AsMessages gives what accesses bring up in the user's messages, in the place
	// of the system prompt (FT-15).
	AsMessages bool
}

func (c *Config) instructionOptions(sh *shared) instructions.Options {
	o := instructions.Options{Names: c.params().Instructions.Names, Imports: c.params().Instructions.Imports}
	if o.Names == nil {
		o.Names = []string{c.params().Layout.ContextFile, "AGENTS.md"}
	}
	o.MayShow = func(p workspace.Path) bool { return c.mayShow(sh, p.String()) }
	return o
}

// projectInstructions finds the instruction files of the project's own folders, and
// none of those that the session may only read, as those of skills.
type projectInstructions struct {
	workspace *workspace.Workspace
	finder    *instructions.Finder
}

func (p projectInstructions) For(ctx context.Context, path workspace.Path, known func(key string) bool) ([]instructions.Document, error) {
	if p.workspace.IsReadOnly(path) {
		return nil, nil
	}
	return p.finder.For(ctx, path, known)
}

// startInstructions finds the files that hold from the beginning: the user's
// own, those of extensions, then for each folder of the workspace those from the
// boundary above it down to it. In an untrusted folder the last are left out
// (FT-20).
func (c *Config) startInstructions(ctx context.Context, sh *shared, known func(key string) bool) ([]instructions.Document, error) {
	userDir, err := c.userDir()
	if err != nil {
		userDir = ""
	}
	var found []instructions.Document
	seen := func(key string) bool {
		return known(key) || slices.ContainsFunc(found, func(d instructions.Document) bool { return d.Key == key })
	}
	add := func(top, folder string) error {
		docs, err := c.instructionsIn(ctx, sh, top, folder, seen)
		found = append(found, docs...)
		return err
	}
	if userDir != "" {
		if err := add(userDir, userDir); err != nil {
			return nil, err
		}
	}
	for _, file := range c.brought().context {
		docs, err := c.instructionsOf(ctx, file, seen)
		if err != nil {
			return nil, err
		}
		found = append(found, docs...)
	}
	if c.params().Trust == trust.Untrusted {
		return found, nil
	}
	for _, folder := range sh.workspace.Folders() {
		if sameFolder(folder, userDir) {
			continue
		}
		if err := add(c.boundaryOf(folder), folder); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// instructionsIn finds those from top down to folder, which lies in it.
func (c *Config) instructionsIn(ctx context.Context, sh *shared, top, folder string, known func(key string) bool) ([]instructions.Document, error) {
	ws, err := workspace.Open(top)
	if err != nil {
		return nil, nil // it is not there
	}
	defer ws.Close() //nolint:errcheck // nothing was written
	o := c.instructionOptions(sh)
	inside := o.MayShow
	o.MayShow = func(p workspace.Path) bool { // read_file shows nothing outside of the workspace; here it may be Markdown
		if _, err := sh.workspace.Resolve(p.String()); err != nil {
			return filepath.Ext(p.Base()) == ".md"
		}
		return inside(p)
	}
	p, err := ws.Resolve(filepath.Join(folder, c.params().Layout.ContextFile))
	if err != nil {
		return nil, nil
	}
	return instructions.New(ws, o).For(ctx, p, known)
}

// boundaryOf returns the nearest folder from the given one upwards that holds a
// mark, else the folder itself. Folders and marks of another owner count as if
// they were not there, as with git.
func (c *Config) boundaryOf(folder string) string {
	marks := c.params().Instructions.Boundary
	if marks == nil {
		marks = []string{".git"}
	}
	own, err := os.Stat(folder)
	if err != nil {
		return folder
	}
	for at := folder; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err != nil || !sameOwner(own, info) {
			return folder
		}
		for _, mark := range marks {
			if info, err := os.Lstat(filepath.Join(at, mark)); err == nil && sameOwner(own, info) {
				return at
			}
		}
		if filepath.Dir(at) == at || sameFolder(at, c.given.home()) {
			return folder
		}
	}
}

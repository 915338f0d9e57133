package workspace

import (
	"path/filepath"
	"slices"
)

// MakeParents creates the missing parent directories of p, with mode 0777 less the umask, and those
// of the target of a link at p: after it [Workspace.Locate] finds the place. undo removes the
// created directories that are still empty; it is never nil and need not be called. On an error no
// created directory is left. Errors are those of [Workspace.Stat]; permission_denied also for
// read-only directories.
func (w *Workspace) MakeParents(p Path) (undo func(), err error) {
	var made []createdDir
	undo = func() {
		for _, m := range slices.Backward(made) {
			w.unmake(m)
		}
		made = nil
	}
	record := func(f frame, name string) error {
		info, err := f.dir.lstat(name)
		if err != nil {
			return err
		}
		made = append(made, createdDir{newPath(f.root.name, filepath.Join(f.rel, name)), info})
		return nil
	}
	if w.IsReadOnly(p) {
		return undo, w.readOnly("workspace.make_parents", p)
	}
	err = w.try(p, true, func(directory) error {
		return (&walker{w: w, change: true, create: true, created: record}).walk(p, func(spot) error { return nil })
	})
	if err != nil {
		undo()
		return func() {}, w.failure("workspace.make_parents", p, err)
	}
	return undo, nil
}

// createdDir is a directory that MakeParents created.
type createdDir struct {
	path Path
	info Info
}

// unmake removes the directory if it is the one made, and empty.
func (w *Workspace) unmake(m createdDir) {
	_ = (&walker{w: w}).walk(m.path, func(s spot) error {
		if s.exists && sameFile(s.info, m.info) {
			return s.dir.rmdir(s.name)
		}
		return nil
	})
}

package workspace

import (
	"errors"
	"io/fs"

	"github.com/fettle-dev/fettle/core/fault"
)

// errReadOnly: the name leads into a read-only directory.
var errReadOnly = errors.New("path is in a read-only directory")

// AddReadOnly appends a read-only directory, under the conditions of [Open]: names in it resolve
// and can be opened and listed, but [Workspace.Locate] and [Workspace.MakeParents], which every
// change needs, refuse them. It is not one of [Workspace.Directories], so it is not part of the
// project. A directory inside an existing one keeps its permission. If [Workspace.Add] later adds
// it, or a parent of it, it becomes writable.
func (w *Workspace) AddReadOnly(dir string) error { return w.add(dir, true, nil) }

// ReadOnlyDirectories returns the names of the read-only directories, in the form of
// [Workspace.Directories].
func (w *Workspace) ReadOnlyDirectories() []string { return w.names(true) }

// IsReadOnly reports whether p is a name in a read-only directory. It does not follow links.
func (w *Workspace) IsReadOnly(p Path) bool {
	r, err := w.rootOf(p)
	return err == nil && r.readOnly
}

// Writable returns nil if the directories allow changing the file that p leads to, whether or not
// it exists. The error is of code permission_denied if p is in a read-only directory, or leads
// there; other problems with p are reported when it is opened. Links may change afterwards:
// [Workspace.Locate] checks again.
func (w *Workspace) Writable(p Path) error {
	if len(w.ReadOnlyDirectories()) == 0 && !w.forked {
		return nil
	}
	if w.IsReadOnly(p) {
		return w.readOnly("workspace.writable", p)
	}
	err := w.try(p, false, func(directory) error {
		return (&walker{w: w, change: true}).walk(p, func(spot) error { return nil })
	})
	if errors.Is(err, errReadOnly) || errors.Is(err, errGit) {
		return w.failure("workspace.writable", p, err)
	}
	return nil
}

// readOnly returns the refusal of a change. It is of code permission_denied, not
// path_not_in_workspace, because the path can be read.
func (w *Workspace) readOnly(op string, p Path) error {
	return fault.Wrap(fault.PermissionDenied, op,
		"This file is read-only: "+show(p.String())+" is in a read-only directory of the session, such as that of a skill, or leads there.",
		"Copy it into the project and change the copy, or ask the user to change it.", errors.Join(errReadOnly, fs.ErrPermission))
}

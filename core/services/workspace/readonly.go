package workspace

import (
	"errors"
	"io/fs"

	"github.com/fettle-dev/fettle/core/fault"
)

// errReadOnly: the name leads into a directory that may only be read.
var errReadOnly = errors.New("path is in a directory that may only be read")

// AddReadOnly appends a directory that may be read and not changed, under the
// conditions of [Open]: names in it resolve and can be opened and listed, and
// [Workspace.Locate] and [Workspace.MakeParents], which every change needs, refuse
// those that lie in it or lead there. It is none of [Workspace.Folders], so that it
// is no part of the project. A directory that lies in one that is there already stays
// what it is, and one that [Workspace.Add] brings later, or that lies in such a one,
// can be changed from then on.
func (w *Workspace) AddReadOnly(folder string) error { return w.add(folder, true) }

// ReadOnlyFolders returns the names of the directories that may only be read, in the
// form of [Workspace.Folders].
func (w *Workspace) ReadOnlyFolders() []string { return w.names(true) }

// IsReadOnly reports whether p is a name in a directory that may only be read. Where
// links lead is not looked at.
func (w *Workspace) IsReadOnly(p Path) bool {
	r, err := w.rootOf(p)
	return err == nil && r.readOnly
}

// Writable returns nil if what p leads to may be changed as far as directories go,
// whether or not it exists. The error is of code permission_denied where p lies in a
// directory that may only be read, or leads there; what else is wrong with p is for
// whoever opens it. It is a look and no promise, as links may change:
// [Workspace.Locate] looks again.
func (w *Workspace) Writable(p Path) error {
	if len(w.ReadOnlyFolders()) == 0 {
		return nil
	}
	if w.IsReadOnly(p) {
		return w.readOnly("workspace.writable", p)
	}
	err := w.try(p, false, func(directory) error {
		return (&walker{w: w, change: true}).walk(p, func(spot) error { return nil })
	})
	if errors.Is(err, errReadOnly) {
		return w.readOnly("workspace.writable", p)
	}
	return nil
}

// readOnly is the refusal of a change. It is of code permission_denied, and not
// path_not_in_workspace: the path can be read.
func (w *Workspace) readOnly(op string, p Path) error {
	return fault.Wrap(fault.PermissionDenied, op,
		"This file may be read and not changed: "+show(p.String())+" lies, or leads, into a directory that the session may only read, as that of a skill.",
		"Copy it into the project and change the copy, or ask the user to change it.", errors.Join(errReadOnly, fs.ErrPermission))
}

package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is an open directory of the workspace, for operations on many names and files in it or
// below. Nothing is resolved again from the top, and no symbolic link below it is followed out of
// it. It stays the same directory if it is moved. It is safe for concurrent use until Close, which
// the caller must call.
type Dir struct {
	w    *Workspace
	path Path
	l    listing
}

// Name is a name in a directory, with the type from the directory entry.
type Name struct {
	Name string
	Type fs.FileMode // type bits only; fs.ModeSymlink for a link, wherever it leads
}

// OpenDir opens the directory that p leads to; links are followed as in [Workspace.Stat]. The
// errors are those of Stat.
func (w *Workspace) OpenDir(p Path) (*Dir, error) {
	l, err := reach(w, p, toRead, directory.list, spot.list)
	if err != nil {
		return nil, w.failure("workspace.open_dir", p, err)
	}
	return &Dir{w, p, l}, nil
}

// Below opens a directory below f; rel is cleaned and has slashes. The errors are those of
// [Workspace.Stat]. If a link has replaced the directory, it is followed only within f.
func (f *Dir) Below(rel string) (*Dir, error) {
	p := f.child(rel)
	l, err := f.l.in.list(filepath.FromSlash(rel))
	if err != nil {
		return nil, f.w.failure("workspace.open_dir", p, err)
	}
	return &Dir{f.w, p, l}, nil
}

// Open opens the file with that name, one element, for reading. It never waits and never follows a
// link, which is refused; the caller checks with [InfoOf] before reading, and closes the file.
// Errors are those of [Workspace.OpenRead].
func (f *Dir) Open(name string) (*os.File, error) {
	file, err := f.l.in.openEntry(name)
	if err != nil {
		return nil, f.w.failure("workspace.open_read", f.child(name), err)
	}
	return file, nil
}

// Lstat describes the file with that name, one element; a link itself is described. Errors are
// those of [Workspace.Stat].
func (f *Dir) Lstat(name string) (Info, error) {
	info, err := f.l.in.lstat(name)
	if err != nil {
		return Info{}, f.w.failure("workspace.stat", f.child(name), err)
	}
	return info, nil
}

// Names calls yield with every name in the directory except `.` and `..`, unordered, until it
// returns false. buf is scratch space, preferably 32 KiB or more. It reads the directory once: a
// second call yields nothing. Errors are those of [Workspace.ReadDir].
func (f *Dir) Names(buf []byte, yield func(Name) bool) error {
	if err := f.l.names(buf, yield); err != nil {
		return f.w.failure("workspace.read_dir", f.path, err)
	}
	return nil
}

// Path returns the name that the directory was opened under.
func (f *Dir) Path() Path { return f.path }

// Close closes the directory. Files opened through it stay open.
func (f *Dir) Close() { f.l.close() }

func (f *Dir) child(rel string) Path {
	return newPath(f.path.Root(), filepath.Join(f.path.rel(), filepath.FromSlash(rel)))
}

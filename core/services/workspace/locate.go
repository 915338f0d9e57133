package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
)

// Location is where a name really leads: the folder that holds the file and
// the file's name there. It stays with that folder if it is moved. The
// caller closes it; its methods may be used at once.
type Location struct {
	Dir      *os.File // the folder, open for reading
	Name     string   // the file's name in it; not a link when it was looked at
	RealPath string   // absolute name without links
	Exists   bool     // whether Name was there

	in directory // the same folder as Dir
}

// Stat describes what Name is now, following nothing. Errors are those of
// [Workspace.Stat].
func (l *Location) Stat() (Info, error) {
	info, err := l.in.lstat(l.Name)
	if err != nil {
		return Info{}, l.failure("workspace.stat", err)
	}
	return info, nil
}

// OpenRead opens Name for reading, never waiting. A link that took the name
// meanwhile is refused with read_content_failure; other errors are those of
// [Workspace.OpenRead].
func (l *Location) OpenRead() (*os.File, error) {
	f, err := l.in.openEntry(l.Name)
	if err != nil {
		return nil, l.failure("workspace.open_read", err)
	}
	return f, nil
}

// Close closes Dir. Further calls do nothing.
func (l *Location) Close() error {
	listing{l.Dir, l.in}.close()
	return nil
}

func (l *Location) failure(op string, err error) error {
	path := show(l.RealPath)
	if errors.Is(err, errMoved) {
		return fault.Wrap(fault.ReadContentFailure, op, "The file was replaced while it was opened: "+path+".", "Try again.", err)
	}
	return pathError(op, path, err)
}

// Locate finds where the file of p really is. Links are followed one by one
// and must stay in the workspace; a final link that leads to nothing yet
// gives its referent's place with Exists false, so that the file is created
// there and the link stays a link (FS-63).
//
// Errors are those of [Workspace.Stat]: file_not_found if the folder is
// missing, permission_denied also if it cannot be listed; and
// target_is_directory for a workspace folder itself.
func (w *Workspace) Locate(p Path) (*Location, error) {
	const op = "workspace.locate"
	l, err := reach(w, p, true, w.locateDirectly(p), spot.locate)
	if err == nil && l == nil {
		err = fault.New(fault.TargetIsDirectory, op, "The path is a workspace folder: "+show(p.String())+".", "Name a file in it.")
	}
	if err != nil {
		return nil, w.failure(op, p, err)
	}
	return l, nil
}

// locateDirectly finds a file on whose path no link stands.
func (w *Workspace) locateDirectly(p Path) func(directory, string) (*Location, error) {
	return func(dir directory, rel string) (*Location, error) {
		if rel == "." {
			return nil, nil
		}
		r, err := w.rootOf(p)
		if err != nil {
			return nil, err
		}
		parent, err := dir.parent(filepath.Dir(rel))
		if err != nil {
			return nil, err
		}
		defer parent.close()
		name, path := filepath.Base(rel), filepath.Join(r.realPath, rel)
		info, err := parent.lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			s, err := absent(parent, name, path)
			if err != nil {
				return nil, err
			}
			return s.locate()
		}
		if err != nil {
			return nil, err
		}
		if info.Mode&fs.ModeSymlink != 0 {
			return nil, errIndirect
		}
		return spot{dir: parent, name: name, path: path, info: info, exists: true}.locate()
	}
}

// locate makes the spot last; nil for a workspace folder itself.
func (s spot) locate() (*Location, error) {
	if s.name == "." {
		return nil, nil
	}
	l, err := s.dir.list(".")
	if err != nil {
		return nil, err
	}
	return &Location{Dir: l.file, Name: s.name, RealPath: s.path, Exists: s.exists, in: l.in}, nil
}

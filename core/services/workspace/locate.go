package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
)

// Location is the resolved place of a file: its directory, and its name there. It stays with that
// directory if it is moved. The caller closes it.
type Location struct {
	Dir  *os.File // the directory, open for reading
	Name string   // the file's name in it, which may not exist; it was not a link when checked

	// Layer is what the directory does to files of that name in another one; for package commit.
	Layer Layer

	in directory // the same directory as Dir
}

// Layer is the role of a directory in a workspace of overlays.
type Layer int

// Layers.
const (
	Plain Layer = iota // it shows its own files
	// Upper shows changes of a fork: a character device 0:0 in it, a whiteout, means that there is no file.
	Upper
	// Covering is Upper for a name that exists below too, so that its removal leaves a whiteout.
	Covering
)

// Close closes Dir. Further calls do nothing.
func (l *Location) Close() error {
	l.in.close()
	_ = l.Dir.Close() // may be closed already, with in
	return nil
}

// Locate resolves the place of the file of p. Links are followed one by one and must stay in the
// workspace. A final link to a missing file returns the place of its target, so that the file is
// created there and the link stays a link.
//
// Errors are those of [Workspace.Stat]: file_not_found if the directory is missing;
// permission_denied also if it cannot be listed, or is read-only; and target_is_directory for a
// workspace directory itself.
func (w *Workspace) Locate(p Path) (*Location, error) {
	const op = "workspace.locate"
	l, err := reach(w, p, toChange, locateDirectly, spot.locate)
	if err == nil && l == nil {
		err = fault.New(fault.TargetIsDirectory, op, "The path is a workspace directory: "+show(p.String())+".", "Name a file in it.")
	}
	if err != nil {
		return nil, w.failure(op, p, err)
	}
	return l, nil
}

// Place returns the absolute name of the place that Locate finds, with links resolved. It changes nothing.
// Errors are those of [Workspace.Stat].
func (w *Workspace) Place(p Path) (place string, err error) {
	err = w.try(p, true, func(directory) error {
		k := &walker{w: w}
		return k.walk(p, func(s spot) error {
			place = k.top().path
			if !s.exists || !s.info.Mode.IsDir() {
				place = filepath.Join(place, s.name)
			}
			return nil
		})
	})
	if err != nil {
		return "", w.failure("workspace.locate", p, err)
	}
	return place, nil
}

// locateDirectly finds a file whose path contains no link.
func locateDirectly(dir directory, rel string) (*Location, error) {
	if rel == "." {
		return nil, nil
	}
	parent, err := dir.parent(filepath.Dir(rel))
	if err != nil {
		return nil, err
	}
	defer parent.close()
	name := filepath.Base(rel)
	info, err := parent.lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		s, err := absent(parent, name)
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
	return spot{dir: parent, name: name, info: info, exists: true}.locate()
}

// locate makes the spot last; nil for a workspace directory itself.
func (s spot) locate() (*Location, error) {
	if s.name == "." {
		return nil, nil
	}
	return s.dir.change(s.name)
}

// Package workspace confines paths to a session's directories.
//
// A [Workspace] resolves names with [Workspace.Resolve] and opens them with [Workspace.OpenRead],
// [Workspace.OpenDir] and [Workspace.Locate]. An opened file is always inside the directories,
// even if symbolic links change concurrently.
package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
)

// Workspace is the set of directories that a session may access, and of read-only directories. It
// is safe for concurrent use.
//
// A directory's descriptor is opened on first use and kept until Close, so an unused Workspace
// costs no descriptor. A directory is the one at the resolved place when it was added. If it is
// removed or renamed and created again, every method uses the new one as soon as it notices; Stat
// checks only if a file is missing. A link in that place is refused with path_not_in_workspace.
type Workspace struct {
	openDir func(path string) (directory, error) // openDirectory, or another implementation in tests

	forked bool // a directory that is not an Overlay cannot become writable
	absent absences

	mu     sync.RWMutex
	roots  []*root // target first; appended to, never changed in place
	closed bool
}

// Open returns a Workspace over the directories, each of which must exist and be a directory;
// relative names start at the working directory. The first is the target directory. Duplicates are
// kept once. The caller closes the Workspace. Errors have the code invalid_config.
func Open(dirs ...string) (*Workspace, error) {
	return open(openDirectory, dirs)
}

func open(openDirectory func(string) (directory, error), dirs []string) (*Workspace, error) {
	if len(dirs) == 0 {
		return nil, fault.New(fault.InvalidConfig, "workspace.open",
			"A workspace needs at least one directory.", "Name the directory to work in.")
	}
	w := &Workspace{openDir: openDirectory}
	for _, dir := range dirs {
		if err := w.Add(dir); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Add appends a directory under the conditions of [Open]. An existing directory keeps its place.
// A workspace of [OpenOverlays] refuses other directories.
func (w *Workspace) Add(dir string) error { return w.add(dir, false, nil) }

// add appends a directory, or the permission to change files in one. openDir opens it; nil: as w does.
func (w *Workspace) add(dir string, readOnly bool, openDir func(string) (directory, error)) error {
	abs, realPath, err := checkDir(dir)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return closedError("workspace.add")
	}
	for _, r := range w.roots {
		_, inside := below(r.realPath, realPath)
		if readOnly && inside || !r.readOnly && r.name == abs {
			return nil
		}
	}
	if w.forked && !readOnly && openDir == nil {
		return fault.New(fault.InvalidConfig, "workspace.add", "The directory "+show(abs)+" cannot be added: the session works on a fork of other directories.",
			"Add it as a read-only directory, or start a session without a fork.")
	}
	if openDir == nil {
		openDir = w.openDir
	}
	roots := slices.Clone(w.roots)
	if !readOnly { // read-only directories in it become part of it
		roots = slices.DeleteFunc(roots, func(r *root) bool {
			_, inside := below(realPath, r.realPath)
			return r.readOnly && inside // other calls may be using its descriptor, which the garbage collector closes
		})
	}
	w.roots = append(roots, &root{name: abs, realPath: realPath, readOnly: readOnly, openDir: openDir})
	return nil
}

// Validate returns the error of [Workspace.Add] for an invalid directory; nil for any other.
func Validate(dir string) error {
	_, _, err := checkDir(dir)
	return err
}

// checkDir returns the absolute, cleaned name of an existing directory, unchanged and with links
// resolved.
func checkDir(dir string) (abs, realPath string, err error) {
	const op, remedy = "workspace.open", "Name an existing directory."
	if dir == "" {
		return "", "", fault.New(fault.InvalidConfig, op, "The name of a workspace directory is empty.", remedy)
	}
	abs, err = filepath.Abs(dir)
	if err != nil {
		return "", "", fault.Wrap(fault.InvalidConfig, op, "The working directory cannot be determined.", remedy, err)
	}
	realPath, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return "", "", fault.Wrap(fault.InvalidConfig, op, "The workspace directory "+show(abs)+" cannot be used.", remedy, err)
	}
	info, err := os.Lstat(realPath)
	if err != nil {
		return "", "", fault.Wrap(fault.InvalidConfig, op, "The workspace directory "+show(abs)+" cannot be used.", remedy, err)
	}
	if !info.IsDir() {
		return "", "", fault.New(fault.InvalidConfig, op, "The workspace directory "+show(abs)+" is not a directory.", remedy)
	}
	if realPath == abs {
		realPath = abs // one string for both
	}
	return abs, realPath, nil
}

// Close closes the directories' descriptors. Files opened through the Workspace stay open. Further
// calls have no effect; other methods fail with the code not_initialized.
func (w *Workspace) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, r := range w.roots {
		r.close()
	}
	return nil
}

// Directories returns the directories' names, absolute and cleaned but with links unresolved, target
// first. Read-only directories are not included.
func (w *Workspace) Directories() []string { return w.names(false) }

// RealDirectories returns the names of Directories with links resolved when the directories were opened.
func (w *Workspace) RealDirectories() []string {
	var names []string
	for _, r := range w.snapshot() {
		if !r.readOnly {
			names = append(names, r.realPath)
		}
	}
	return names
}

func (w *Workspace) names(readOnly bool) []string {
	var names []string
	for _, r := range w.snapshot() {
		if r.readOnly == readOnly {
			names = append(names, r.name)
		}
	}
	return names
}

// Target returns the name of the target directory.
func (w *Workspace) Target() string { return w.snapshot()[0].name }

func (w *Workspace) snapshot() []*root {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.roots
}

// rootOf returns the directory that p belongs to.
func (w *Workspace) rootOf(p Path) (*root, error) {
	for _, r := range w.snapshot() {
		if r.name == p.Root() {
			return r, nil
		}
	}
	return nil, errOutside
}

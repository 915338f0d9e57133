package workspace

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// Path is a name inside a workspace directory, checked only as text: opening it checks the file. It
// is a small value to be copied; the zero Path is invalid, and every use of it is refused.
type Path struct {
	root string // absolute, cleaned
	rel  string // cleaned, below root; "." for root itself
}

// String returns the absolute, cleaned name, links unresolved.
func (p Path) String() string {
	switch {
	case p.rel == "" || p.rel == ".":
		return p.root
	case os.IsPathSeparator(p.root[len(p.root)-1]): // the root of a file system
		return p.root + p.rel
	}
	return p.root + string(filepath.Separator) + p.rel // both are cleaned
}

// Rel returns the name relative to its workspace directory, with slashes; "."
// for the directory itself.
func (p Path) Rel() string { return filepath.ToSlash(p.rel) }

// Root returns the workspace directory that contains the name.
func (p Path) Root() string { return p.root }

// Base returns the last element of the name.
func (p Path) Base() string { return filepath.Base(p.String()) }

// Resolve converts a path into a name inside the workspace; a relative one starts at the target
// directory. It works on text alone and never accesses the disk, so it cannot block. A path is
// inside if it begins with the name of a directory as given, or with its resolved name when it was
// added. Other links to a directory are unknown, and paths through them are refused.
//
// Errors: invalid_tool_params for an empty path or one with a NUL byte, path_not_in_workspace for
// one outside.
func (w *Workspace) Resolve(path string) (Path, error) {
	const op = "workspace.resolve"
	if path == "" {
		return Path{}, fault.New(fault.InvalidToolParams, op, "The file path is empty.", "Give a path inside the workspace.")
	}
	if strings.ContainsRune(path, 0) {
		return Path{}, fault.New(fault.InvalidToolParams, op,
			"The file path "+show(path)+" contains a NUL byte.", "Give a path without it.")
	}
	roots := w.snapshot()
	abs := path
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(roots[0].name, abs)
	}
	abs = filepath.Clean(abs)
	if p, ok := match(roots, abs, func(r *root) string { return r.name }); ok {
		return p, nil
	}
	if p, ok := match(roots, abs, func(r *root) string { return r.realPath }); ok {
		return p, nil
	}
	return Path{}, w.outside(op, abs)
}

// match returns the innermost workspace directory that contains abs. nameOf returns the name of a
// directory to compare.
func match(roots []*root, abs string, nameOf func(*root) string) (p Path, ok bool) {
	longest := -1
	for _, r := range roots {
		name := nameOf(r)
		if rel, inside := below(name, abs); inside && len(name) > longest {
			p, ok, longest = Path{root: r.name, rel: rel}, true, len(name)
		}
	}
	return p, ok
}

// below returns abs relative to dir, both absolute and cleaned.
func below(dir, abs string) (rel string, ok bool) {
	rest, ok := strings.CutPrefix(abs, dir)
	switch {
	case !ok:
		return "", false
	case rest == "":
		return ".", true
	case os.IsPathSeparator(dir[len(dir)-1]): // the root of a file system
		return rest, true
	case os.IsPathSeparator(rest[0]):
		return rest[1:], true
	}
	return "", false
}

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
	name string // absolute, cleaned, links unresolved
	root int    // the length of the workspace directory's name, with which name begins
}

// newPath returns the Path of rel below the workspace directory root. rel is cleaned; "." is root itself.
func newPath(root, rel string) Path {
	p := Path{name: root, root: len(root)}
	switch {
	case rel == ".":
	case os.IsPathSeparator(root[len(root)-1]): // the root of a file system
		p.name += rel
	default:
		p.name += string(filepath.Separator) + rel
	}
	return p
}

// String returns the absolute, cleaned name, links unresolved.
func (p Path) String() string { return p.name }

// Rel returns the name relative to its workspace directory, with slashes; "."
// for the directory itself.
func (p Path) Rel() string { return filepath.ToSlash(p.rel()) }

// rel returns the name relative to its workspace directory, cleaned; "." for the directory itself, and "" for the zero Path.
func (p Path) rel() string {
	if p == (Path{}) {
		return ""
	}
	rel, _ := below(p.Root(), p.name)
	return rel
}

// Root returns the workspace directory that contains the name.
func (p Path) Root() string { return p.name[:p.root] }

// Base returns the last element of the name.
func (p Path) Base() string { return filepath.Base(p.name) }

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
		rel, inside := below(name, abs)
		if !inside || len(name) <= longest {
			continue
		}
		p, ok, longest = Path{name: abs, root: len(name)}, true, len(name)
		if name != r.name {
			p = newPath(r.name, rel)
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

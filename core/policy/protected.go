package policy

import (
	"path/filepath"
	"slices"
	"strings"
)

// protected reports whether the call changes a file that decides what later
// runs, as rules and git's hooks do: then autoEdit does not cover it. The plans
// folder is no such place.
func (t *trial) protected() bool {
	if len(t.protects) == 0 {
		return false
	}
	for _, path := range t.changed() {
		if t.protects.hold(path) || t.protects.hold(t.call.follow(path)) {
			return !t.plansFile()
		}
	}
	return false
}

// changed lists the absolute paths that a call's arguments name.
func (t *trial) changed() []string {
	var paths []string
	for _, key := range pathKeys {
		if path := t.args.text(key); path != "" {
			paths = append(paths, t.call.absolute(path))
		}
	}
	return paths
}

// protects are the protected folders: base names, and absolute paths.
type protects []string

// hold reports whether an absolute path is, or lies in, one of them. Letter
// case makes no difference to a name, as it makes none to some file systems.
func (p protects) hold(path string) bool {
	segments := strings.Split(filepath.Clean(path), string(filepath.Separator))
	return slices.ContainsFunc(p, func(folder string) bool {
		if filepath.IsAbs(folder) {
			return beneath(folder, filepath.Clean(path))
		}
		return slices.ContainsFunc(segments, func(name string) bool { return strings.EqualFold(name, folder) })
	})
}

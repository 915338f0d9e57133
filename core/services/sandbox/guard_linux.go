//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Guard finds the protected names that one command creates in overlays. Only the changes are searched:
// what lies below is found by [Tree.Existing].
type Guard struct {
	overlays    []Overlay
	isProtected func(path string) bool
	recovery    func() (string, error)
	before      map[string]entry // by the path that the command sees
}

// entry is a protected name in an upper directory.
type entry struct {
	overlay *Overlay
	name    string // in the upper directory
	id      identity
	gone    bool // the entry removes the file below
}

// NewGuard returns a Guard. isProtected and recovery are those of [NewTree].
func NewGuard(overlays []Overlay, isProtected func(path string) bool, recovery func() (string, error)) *Guard {
	return &Guard{overlays: overlays, isProtected: isProtected, recovery: recovery}
}

// Begin returns the protected paths that exist in the upper directories, as the command will see them.
func (g *Guard) Begin() (existing []string, err error) {
	g.before, err = g.find()
	for path, e := range g.before {
		if !e.gone {
			existing = append(existing, path)
		}
	}
	slices.Sort(existing)
	return existing, err
}

// End moves away the protected paths that have appeared since Begin, when no process of the command is
// left, and returns them as the command saw them. The error is the reason why one was not moved.
func (g *Guard) End() (removed []string, err error) {
	now, err := g.find()
	all := []error{err}
	moved := make(map[identity]bool) // with a parent directory
	for _, e := range g.before {
		moved[e.id] = true
	}
	for _, path := range slices.Sorted(maps.Keys(now)) {
		e, before := now[path], g.before[path]
		if e.gone || moved[e.id] {
			continue
		}
		removed = append(removed, path)
		err := moveAway(g.recovery, e.overlay.Upper, e.name)
		if err == nil && before.gone { // the file below stays removed
			err = unix.Mknod(e.name, unix.S_IFCHR, 0)
		}
		all = append(all, err)
	}
	return removed, errors.Join(all...)
}

// find returns the protected names in the upper directories.
func (g *Guard) find() (map[string]entry, error) {
	found := make(map[string]entry)
	for i := range g.overlays {
		o := &g.overlays[i]
		err := filepath.WalkDir(o.Upper, func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && name != o.Upper {
				return nil
			}
			if err != nil || name == o.Upper {
				return err
			}
			path := o.Dir + name[len(o.Upper):]
			if !g.isProtected(path) && (!d.IsDir() || max(len(path), len(name)) <= longest) {
				if d.IsDir() && unix.Access(name, unix.R_OK|unix.X_OK) != nil {
					return os.Chmod(name, 0o700) //nolint:gosec // a command has made it unreadable; it is the user's
				}
				return nil
			}
			e := entry{overlay: o, name: name}
			e.id, _ = identityOf(name)
			if info, err := d.Info(); err == nil {
				e.gone = isWhiteout(info)
			}
			found[path] = e
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			return found, &Error{Step: "search protected names", Err: err}
		}
	}
	return found, nil
}

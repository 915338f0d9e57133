package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// Stat describes the file that p leads to; links are followed within the workspace. The error has
// code file_not_found, permission_denied, path_is_not_a_directory, path_not_in_workspace,
// read_content_failure or invalid_tool_params (a name that is too long).
func (w *Workspace) Stat(p Path) (Info, error) {
	info, err := reach(w, p, toStat, directory.stat, spot.stat)
	if err != nil {
		return Info{}, w.failure("workspace.stat", p, err)
	}
	return info, nil
}

// OpenRead opens the file that p leads to for reading, following links as [Workspace.Stat] does. It
// never waits for a FIFO's writer, and at most 100 ms for a program that holds a lease on the file.
// It also opens directories and devices: the caller checks with [InfoOf] before reading, and closes
// the file. Errors are those of Stat, and not_a_regular_file for files that cannot be opened, such
// as a socket. A file that stays leased is a read_content_failure.
func (w *Workspace) OpenRead(p Path) (*os.File, error) {
	f, err := reach(w, p, toRead, directory.open, spot.open)
	if err != nil {
		return nil, w.failure("workspace.open_read", p, err)
	}
	return f, nil
}

// purpose is the reason for following a name.
type purpose int

const (
	toStat   purpose = iota
	toRead           // the directory must not have been replaced
	toChange         // likewise, and it must not be read-only
)

// reach runs a function on the file that p leads to: directly if possible, otherwise at the end of
// a walk.
func reach[T any](w *Workspace, p Path, why purpose, direct func(directory, string) (T, error), walked func(spot) (T, error)) (result T, err error) {
	if why == toChange && w.IsReadOnly(p) {
		return result, errReadOnly
	}
	err = w.try(p, why != toStat, func(dir directory) (err error) {
		result, err = direct(dir, p.rel())
		if !errors.Is(err, errIndirect) {
			return err
		}
		return (&walker{w: w, change: why == toChange}).walk(p, func(s spot) (err error) {
			result, err = walked(s)
			return err
		})
	})
	return result, err
}

// try calls do with the workspace directory of p, and repeats the call if a file was replaced
// meanwhile. With verify, the directory must not have been replaced. Without it, that is checked
// only if do does not find a file.
func (w *Workspace) try(p Path, verify bool, do func(directory) error) error {
	const attempts = 64
	r, err := w.rootOf(p)
	if err != nil {
		return err
	}
	verify = verify || p.rel() == "." // a removed directory has no missing file
	for range attempts {
		dir, err := r.open()
		if err != nil {
			return err
		}
		if verify && r.dropIfReplaced(dir) {
			continue
		}
		err = do(dir)
		if !verify && errors.Is(err, fs.ErrNotExist) && r.dropIfReplaced(dir) {
			continue
		}
		if !errors.Is(err, errMoved) {
			return err
		}
	}
	return errMoved
}

// Existing returns those of the names that exist in the directory p leads to, in their order. A link
// exists even if its target does not. A name of several elements is returned unchecked, and so are
// all names if the path contains a link, or the system cannot open a directory without following
// links. Errors are those of [Workspace.Stat].
func (w *Workspace) Existing(p Path, names []string) ([]string, error) {
	var found []string
	err := w.try(p, true, func(dir directory) (err error) {
		if p.rel() != "." {
			below, err := dir.parent(p.rel())
			if errors.Is(err, errIndirect) {
				found = names
				return nil
			}
			if err != nil {
				return err
			}
			defer below.close()
			dir = below
		}
		found, err = w.absent.search(dir, p, names, func() ([]string, error) { return existing(dir, names) })
		return err
	})
	if err != nil {
		return nil, w.failure("workspace.existing", p, err)
	}
	return found, nil
}

// existing returns those of the names that exist in a directory.
func existing(dir directory, names []string) (found []string, err error) {
	for _, name := range names {
		var err error
		if filepath.Base(name) == name {
			_, err = dir.lstat(name)
		}
		switch {
		case err == nil:
			found = append(found, name)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return found, nil
}

// Entry is one name in a directory.
type Entry struct {
	Name string
	Info Info  // of the target, links followed
	Link bool  // the name is a symbolic link
	Err  error // why Info is missing, a *fault.Error as from Stat: for a dangling link, or one that leads outside
}

// ReadDir lists the directory that p leads to, sorted by name, without `.` and `..`. A name that
// vanishes meanwhile is omitted. Errors are those of [Workspace.Stat], and cancelled.
func (w *Workspace) ReadDir(ctx context.Context, p Path) ([]Entry, error) {
	const op = "workspace.read_dir"
	l, err := reach(w, p, toRead, directory.list, spot.list)
	if err != nil {
		return nil, w.failure(op, p, err)
	}
	defer l.close()
	var entries []Entry
	err = l.names(nil, func(n Name) bool {
		if e, ok := w.entry(l.in, p, n.Name); ok {
			entries = append(entries, e)
		}
		return ctx.Err() == nil
	})
	if err := ctx.Err(); err != nil {
		return nil, fault.Wrap(fault.Cancelled, op, "Listing "+show(p.String())+" was cancelled.", "", err)
	}
	if err != nil {
		return nil, w.failure(op, p, err)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// entry describes a name in the directory p, open as dir; ok is false if the name no longer exists.
func (w *Workspace) entry(dir directory, p Path, name string) (e Entry, ok bool) {
	e = Entry{Name: name}
	child := func() Path { return newPath(p.Root(), filepath.Join(p.rel(), name)) }
	info, err := dir.lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e, false
	case err != nil:
		e.Err = w.failure("workspace.stat", child(), err)
	case info.Mode&fs.ModeSymlink != 0:
		e.Link = true
		e.Info, e.Err = w.Stat(child())
	default:
		e.Info = info
	}
	return e, true
}

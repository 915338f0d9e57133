package workspace

import (
	"io/fs"
	"path/filepath"
	"syscall"
)

// The operations below change the entry of a name itself: a link under the name is not followed. Links of its
// directory are. Errors are those of [Workspace.Locate].

// MakeDir creates a directory with that mode, less the umask. It fails if the name exists.
func (w *Workspace) MakeDir(p Path, mode fs.FileMode) error {
	return w.changeEntry("workspace.make_dir", p, func(dir directory, name string) error { return dir.mkdir(name, mode.Perm()) })
}

// MakeLink creates a symbolic link. With replace it may replace one, in a single step; it fails for any other
// file.
func (w *Workspace) MakeLink(p Path, target string, replace bool) error {
	return w.changeEntry("workspace.make_link", p, func(dir directory, name string) error {
		if !replace {
			if _, err := dir.lstat(name); err == nil {
				return syscall.EEXIST
			}
		}
		return dir.symlink(target, name)
	})
}

// RemoveEntry removes a symbolic link or an empty directory, and fails for any other file.
func (w *Workspace) RemoveEntry(p Path) error {
	return w.changeEntry("workspace.remove_entry", p, func(dir directory, name string) error {
		info, err := dir.lstat(name)
		switch {
		case err != nil:
			return err
		case info.Mode.IsDir():
			return dir.rmdir(name)
		case info.Mode&fs.ModeSymlink != 0:
			return dir.unlink(name)
		}
		return syscall.ENOTDIR
	})
}

// Chmod sets the permissions of a regular file or a directory, with the bits of set-user-ID, set-group-ID and
// sticky.
func (w *Workspace) Chmod(p Path, mode fs.FileMode) error {
	return w.changeEntry("workspace.chmod", p, func(dir directory, name string) error { return dir.chmod(name, mode) })
}

// Lstat describes the file with that name; a link itself is described. Errors are those of [Workspace.Stat].
func (w *Workspace) Lstat(p Path) (Info, error) {
	if p.rel() == "." {
		return w.Stat(p)
	}
	info, err := inParent(w, p, toStat, directory.lstat)
	if err != nil {
		return Info{}, w.failure("workspace.stat", p, err)
	}
	return info, nil
}

// Readlink returns the target of a link, unchanged. Errors are those of [Dir.Readlink].
func (w *Workspace) Readlink(p Path) (string, error) {
	found, err := inParent(w, p, toStat, directory.lookup)
	if err == nil && found.dir != nil {
		found.dir.close()
	}
	if err == nil && found.info.Mode&fs.ModeSymlink == 0 {
		err = notALink(p)
	}
	if err != nil {
		return "", w.failure("workspace.readlink", p, err)
	}
	return found.target, nil
}

func (w *Workspace) changeEntry(op string, p Path, change func(directory, string) error) error {
	if p.rel() == "." {
		return w.failure(op, p, syscall.EBUSY)
	}
	_, err := inParent(w, p, toChange, func(dir directory, name string) (struct{}, error) { return struct{}{}, change(dir, name) })
	if err != nil {
		return w.failure(op, p, err)
	}
	return nil
}

// inParent calls use with the directory of a name and its last element.
func inParent[T any](w *Workspace, p Path, why purpose, use func(directory, string) (T, error)) (T, error) {
	in := func(l listing, err error) (result T, _ error) {
		if err != nil {
			return result, err
		}
		defer l.close()
		return use(l.in, filepath.Base(p.rel()))
	}
	return reach(w, newPath(p.Root(), filepath.Dir(p.rel())), why,
		func(dir directory, rel string) (T, error) { return in(dir.list(rel)) },
		func(s spot) (T, error) { return in(s.list()) })
}

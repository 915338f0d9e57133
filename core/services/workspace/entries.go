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

// MakeLink creates a symbolic link. It replaces one in a single step, and fails for any other file.
func (w *Workspace) MakeLink(p Path, target string) error {
	return w.changeEntry("workspace.make_link", p, func(dir directory, name string) error { return dir.symlink(target, name) })
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

func (w *Workspace) changeEntry(op string, p Path, change func(directory, string) error) error {
	if p.root == "" || p.rel == "." {
		return w.failure(op, p, syscall.EBUSY)
	}
	parent := Path{root: p.root, rel: filepath.Dir(p.rel)}
	in := func(l listing, err error) (struct{}, error) {
		if err == nil {
			defer l.close()
			err = change(l.in, filepath.Base(p.rel))
		}
		return struct{}{}, err
	}
	_, err := reach(w, parent, toChange,
		func(dir directory, rel string) (struct{}, error) { return in(dir.list(rel)) },
		func(s spot) (struct{}, error) { return in(s.list()) })
	if err != nil {
		return w.failure(op, p, err)
	}
	return nil
}

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// rootDirectory is a directory opened by os.Root: on every platform, several times slower than
// openat2.
type rootDirectory struct{ root *os.Root }

func openRootDirectory(path string) (directory, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return rootDirectory{root}, nil
}

func (d rootDirectory) identity() (Info, error) { return d.stat(".") }

func (d rootDirectory) stat(rel string) (Info, error) {
	fi, err := d.root.Stat(rel)
	if err != nil {
		return Info{}, indirect(err)
	}
	return infoOfFileInfo(fi), nil
}

func (d rootDirectory) open(rel string) (*os.File, error) {
	f, err := d.root.OpenFile(rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, indirect(err)
	}
	return f, nil
}

// indirect converts an error of os.Root to errIndirect unless its class is certain: os.Root has no
// class of its own for a refused absolute link.
func indirect(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrClosed) {
		return err
	}
	return errIndirect
}

func (d rootDirectory) list(rel string) (listing, error) {
	opened, err := d.reopen(rel)
	if err != nil {
		return listing{}, err
	}
	return listOf(opened.file, opened), nil
}

// readableRoot is a directory that is open for reading, too.
type readableRoot struct {
	rootDirectory
	file *os.File
}

func (d readableRoot) close() {
	d.rootDirectory.close()
	_ = d.file.Close() // it was only read
}

func (d rootDirectory) reopen(rel string) (readableRoot, error) {
	root, err := d.root.OpenRoot(rel)
	if err != nil {
		return readableRoot{}, indirect(err)
	}
	f, err := root.Open(".")
	if err != nil {
		_ = root.Close()
		return readableRoot{}, err
	}
	return readableRoot{rootDirectory{root}, f}, nil
}

func (d rootDirectory) mayChange(string) error { return nil }

func (d rootDirectory) change(name string) (*Location, error) {
	opened, err := d.reopen(".")
	if err != nil {
		return nil, err
	}
	return changeIn(opened.file, opened, name), nil
}

// parent always requires a walk, because os.Root has no option to refuse links.
func (d rootDirectory) parent(string) (directory, error) { return nil, errIndirect }

func (d rootDirectory) lstat(name string) (Info, error) {
	fi, err := d.root.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return infoOfFileInfo(fi), nil
}

func (d rootDirectory) lookup(name string) (entry, error) {
	fi, err := d.root.Lstat(name)
	if err != nil {
		return entry{}, err
	}
	e := entry{info: infoOfFileInfo(fi)}
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		e.target, err = d.root.Readlink(name)
		if errors.Is(err, syscall.EINVAL) {
			return entry{}, errMoved
		}
	case fi.IsDir():
		e.dir, err = d.sub(name, fi)
	}
	return e, err
}

// sub opens the directory that fi describes.
func (d rootDirectory) sub(name string, fi fs.FileInfo) (directory, error) {
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(fi, opened) {
		_ = root.Close()
		return nil, errMoved
	}
	return rootDirectory{root}, nil
}

func (d rootDirectory) openEntry(name string) (*os.File, error) {
	fi, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if fi.Mode()&fs.ModeSymlink != 0 {
		return nil, errMoved
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(fi, opened) {
		_ = f.Close()
		return nil, errMoved
	}
	return f, nil
}

func (d rootDirectory) mkdir(name string, perm fs.FileMode) error { return d.root.Mkdir(name, perm) }

func (d rootDirectory) symlink(target, name string) error {
	err := d.root.Symlink(target, name)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if fi, looking := d.root.Lstat(name); looking != nil || fi.Mode()&fs.ModeSymlink == 0 {
		return err
	}
	temp := hiddenName()
	if err := d.root.Symlink(target, temp); err != nil {
		return err
	}
	if err := d.root.Rename(temp, name); err != nil {
		return errors.Join(err, d.root.Remove(temp))
	}
	return nil
}

func (d rootDirectory) unlink(name string) error { return d.root.Remove(name) }

func (d rootDirectory) chmod(name string, mode fs.FileMode) error {
	fi, err := d.root.Lstat(name)
	if err != nil {
		return err
	}
	if !fi.IsDir() && !fi.Mode().IsRegular() {
		return errSpecial
	}
	return d.root.Chmod(name, mode)
}

func (d rootDirectory) rmdir(name string) error { return removeDir(d.root, name) }

func (d rootDirectory) close() { _ = d.root.Close() }

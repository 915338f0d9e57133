package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func (d layered) mayChange(name string) error {
	for element := range strings.SplitSeq(d.relative(name), "/") {
		if strings.EqualFold(element, ".git") {
			return errGit
		}
	}
	return nil
}

// relative returns the path of a file below the directory of the overlay, with slashes.
func (d layered) relative(name string) string { return filepath.ToSlash(filepath.Join(d.rel, name)) }

// change copies the file and its directories to the upper directory, where it is changed then.
func (d layered) change(name string) (*Location, error) {
	if err := d.mayChange(name); err != nil {
		return nil, err
	}
	at, err := d.raised()
	if err != nil {
		return nil, err
	}
	layer, err := at.raise(name)
	if err != nil {
		at.close()
		return nil, err
	}
	fd, err := at.upper.openBelow(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		at.close()
		return nil, err
	}
	return &Location{Dir: os.NewFile(uintptr(fd), "."), Name: name, Layer: layer, in: at}, nil
}

// raised returns the directory with an upper one. It creates missing ones, with the attributes of those
// below.
func (d layered) raised() (layered, error) {
	if d.upper.exists() {
		if info, err := d.upper.stat("."); err != nil || info.Nlink > 0 {
			return d.again(unix.O_PATH)
		}
	}
	lower, err := openDirectory(d.overlay.Dir)
	if err != nil {
		return layered{}, err
	}
	upper, err := openDirectory(d.overlay.Upper)
	if err != nil {
		lower.close()
		return layered{}, err
	}
	at := layered{overlay: d.overlay, rel: "."}
	at.lower, _ = lower.(fdDirectory)
	at.upper, _ = upper.(fdDirectory)
	for name := range strings.SplitSeq(d.rel, "/") {
		next, err := at.child(name, unix.O_PATH)
		if err == nil && !next.upper.exists() {
			if err = at.copyDir(name, next.lower); err == nil {
				next.close()
				next, err = at.child(name, unix.O_PATH)
			}
		}
		at.close()
		if errors.Is(err, errIndirect) {
			err = errMoved
		}
		if err == nil && !next.upper.exists() {
			err = errMoved
		}
		if err != nil {
			next.close()
			return layered{}, err
		}
		at = next
	}
	if !sameDirectory(d.lower, at.lower) {
		at.close()
		return layered{}, errMoved
	}
	return at, nil
}

// sameDirectory reports whether both do not exist, or are the same directory.
func sameDirectory(a, b fdDirectory) bool {
	if !a.exists() || !b.exists() {
		return a.exists() == b.exists()
	}
	x, err := a.stat(".")
	y, err2 := b.stat(".")
	return err == nil && err2 == nil && sameFile(x, y)
}

// raise makes sure that the upper directory has the file with that name, if there is one.
func (d layered) raise(name string) (Layer, error) {
	below, err := unix.Stat_t{}, error(unix.ENOENT)
	if d.lower.exists() {
		below, err = d.lower.raw(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Plain, err
	}
	isBelow := err == nil
	switch st, err := d.upper.raw(name); {
	case err == nil && (isBelow || isWhiteout(&st)):
		return Covering, nil
	case err == nil:
		return Upper, nil
	case !errors.Is(err, fs.ErrNotExist):
		return Plain, err
	}
	t := Touched{Path: d.relative(name), Check: func() error { return d.same(name, isBelow, &below) }}
	switch {
	case !isBelow:
		t.Absent = true
		return Upper, d.touch(t)
	case isType(&below, unix.S_IFREG):
		return Covering, d.copyFile(name, t)
	case isType(&below, unix.S_IFDIR):
		return Covering, d.copyDirNamed(name)
	case isType(&below, unix.S_IFLNK):
		return Plain, errMoved
	}
	return Plain, errSpecial
}

func (d layered) touch(t Touched) error {
	if d.overlay.Touch == nil {
		return nil
	}
	return d.overlay.Touch(t)
}

// same returns errMoved if the file below is not the one that was found, unchanged.
func (d layered) same(name string, existed bool, found *unix.Stat_t) error {
	if !d.lower.exists() {
		return nil
	}
	st, err := d.lower.raw(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !existed:
		return nil
	case err == nil && existed && infoOfStat(&st) == infoOfStat(found):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return errMoved
}

// mkdir creates a directory. Where one was removed, the new one hides it.
func (d layered) mkdir(name string, perm fs.FileMode) error {
	if err := d.mayChange(name); err != nil {
		return err
	}
	if _, err := d.lstat(name); err == nil {
		return syscall.EEXIST
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at, err := d.raised()
	if err != nil {
		return err
	}
	defer at.close()
	st, err := at.upper.raw(name)
	if err != nil {
		return at.upper.mkdir(name, perm)
	}
	if !isWhiteout(&st) {
		return syscall.EEXIST
	}
	return control(at.upper.file, func(dirfd int) error {
		temp := hiddenName()
		if err := unix.Mkdirat(dirfd, temp, uint32(perm.Perm())); err != nil {
			return err
		}
		err := setOpaque(dirfd, temp)
		if err == nil {
			err = exchangeWhiteout(dirfd, temp, name)
		}
		if err != nil {
			_ = unix.Unlinkat(dirfd, temp, unix.AT_REMOVEDIR) // the other error is returned
		}
		return err
	})
}

func setOpaque(dirfd int, name string) error {
	fd, _, err := enter(dirfd, name)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	return unix.Setxattr(fdPath(fd), opaqueAttribute, []byte("y"), 0)
}

// exchangeWhiteout puts a directory in the place of a whiteout, which is removed.
func exchangeWhiteout(dirfd int, temp, name string) error {
	if err := unix.Renameat2(dirfd, temp, dirfd, name, unix.RENAME_EXCHANGE); err != nil {
		return err
	}
	if st, err := statIn(dirfd, temp); err != nil || !isWhiteout(&st) {
		return errors.Join(syscall.EEXIST, unix.Renameat2(dirfd, temp, dirfd, name, unix.RENAME_EXCHANGE))
	}
	return unix.Unlinkat(dirfd, temp, 0)
}

// rmdir removes an empty directory. Where there is one below, a whiteout stays.
func (d layered) rmdir(name string) error {
	if err := d.mayChange(name); err != nil {
		return err
	}
	c, err := d.child(name, unix.O_RDONLY)
	if errors.Is(err, errIndirect) {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.empty(); err != nil {
		return err
	}
	at, err := d.raised()
	if err != nil {
		return err
	}
	defer at.close()
	isBelow := false
	if at.lower.exists() {
		st, err := at.lower.raw(name)
		isBelow = err == nil
		if isBelow {
			err = at.touch(Touched{Path: at.relative(name), Mode: modeOf(st.Mode),
				Check: func() error { return at.same(name, true, &st) }})
			if err != nil {
				return err
			}
		}
	}
	return control(at.upper.file, func(dirfd int) error {
		if !c.upper.exists() {
			return unix.Mknodat(dirfd, name, unix.S_IFCHR, 0)
		}
		return removeDirectory(dirfd, name, isBelow)
	})
}

// empty returns ENOTEMPTY if the directory shows a file.
func (d layered) empty() error {
	found := false
	look := func(Name) bool {
		found = true
		return false
	}
	var err error
	if d.upper.exists() {
		err = d.names(nil, look)
	} else {
		err = readNames(d.lower.file, d.lower, nil, look)
	}
	if err == nil && found {
		err = syscall.ENOTEMPTY
	}
	return err
}

// removeDirectory removes a directory of an upper one that shows no file. With covers a whiteout takes its
// place. The whiteouts in it are removed afterwards: the system's overlayfs lists those of a directory that is
// opaque.
func removeDirectory(dirfd int, name string, covers bool) error {
	if !covers {
		if err := removeHidden(dirfd, name); err != nil {
			return err
		}
		return unix.Unlinkat(dirfd, name, unix.AT_REMOVEDIR)
	}
	temp := hiddenName()
	if err := unix.Mknodat(dirfd, temp, unix.S_IFCHR, 0); err != nil {
		return err
	}
	if err := unix.Renameat2(dirfd, temp, dirfd, name, unix.RENAME_EXCHANGE); err != nil {
		return errors.Join(err, unix.Unlinkat(dirfd, temp, 0))
	}
	err := removeHidden(dirfd, temp)
	if err == nil {
		err = unix.Unlinkat(dirfd, temp, unix.AT_REMOVEDIR)
	}
	if err != nil { // another program has put a file into it
		return errors.Join(err, setOpaque(dirfd, temp), unix.Renameat2(dirfd, temp, dirfd, name, unix.RENAME_EXCHANGE), unix.Unlinkat(dirfd, temp, 0))
	}
	return nil
}

// removeHidden removes the whiteouts of a directory, and what killed processes left.
func removeHidden(dirfd int, name string) error {
	fd, err := uninterrupted(func() (int, error) {
		return unix.Openat(dirfd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close() //nolint:errcheck // nothing was written to it
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	return control(dir, func(fd int) error {
		for _, n := range names {
			st, err := statIn(fd, n)
			switch {
			case err != nil:
			case isWhiteout(&st):
				err = unix.Unlinkat(fd, n, 0)
			case isType(&st, unix.S_IFDIR) && strings.HasPrefix(n, hiddenPrefix):
				err = unix.Unlinkat(fd, n, unix.AT_REMOVEDIR)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

// RemoveMade removes an empty directory that a change has created in a directory with that role. In an upper
// directory, one that hides another leaves a whiteout.
func RemoveMade(dir string, layer Layer) error {
	if layer == Plain {
		return os.Remove(dir)
	}
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close() //nolint:errcheck // nothing was written to it
	return control(parent, func(dirfd int) error {
		fd, opaque, err := enter(dirfd, filepath.Base(dir))
		if err != nil {
			return err
		}
		_ = unix.Close(fd)
		if !opaque {
			return unix.Unlinkat(dirfd, filepath.Base(dir), unix.AT_REMOVEDIR)
		}
		return removeDirectory(dirfd, filepath.Base(dir), true)
	})
}

package workspace

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

func (d layered) chmod(name string, mode fs.FileMode) error {
	if err := d.mayChange(name); err != nil {
		return err
	}
	info, err := d.lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode.IsDir() && !info.Mode.IsRegular() {
		return errSpecial
	}
	at, err := d.raised()
	if err != nil {
		return err
	}
	defer at.close()
	if _, err := at.raise(name); err != nil {
		return err
	}
	return at.upper.chmod(name, mode)
}

// symlink creates a link, or changes the target of one.
func (d layered) symlink(target, name string) error {
	at, found, err := d.linkAt(name)
	defer at.close()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && found.info.Mode&fs.ModeSymlink == 0 {
		return syscall.EEXIST
	}
	st, looking := at.upper.raw(name)
	switch {
	case looking != nil: // nothing above: the new link covers the one below
		return at.upper.symlink(target, name)
	case !isWhiteout(&st):
		return at.upper.relink(target, name)
	}
	temp := hiddenName()
	return control(at.upper.file, func(dirfd int) error {
		if err := unix.Symlinkat(target, dirfd, temp); err != nil {
			return err
		}
		err := exchangeWhiteout(dirfd, temp, name)
		if err != nil {
			_ = unix.Unlinkat(dirfd, temp, 0) // the other error is returned
		}
		return err
	})
}

// unlink removes a link. Where there is a file below, a whiteout stays.
func (d layered) unlink(name string) error {
	at, found, err := d.linkAt(name)
	defer at.close()
	if err != nil {
		return err
	}
	if found.info.Mode&fs.ModeSymlink == 0 {
		return errMoved
	}
	isBelow := false
	if at.lower.exists() {
		_, err := at.lower.raw(name)
		isBelow = err == nil
	}
	return control(at.upper.file, func(dirfd int) error {
		if _, err := statIn(dirfd, name); err != nil {
			return unix.Mknodat(dirfd, name, unix.S_IFCHR, 0)
		}
		if !isBelow {
			return unix.Unlinkat(dirfd, name, 0)
		}
		temp := hiddenName()
		if err := unix.Mknodat(dirfd, temp, unix.S_IFCHR, 0); err != nil {
			return err
		}
		if err := unix.Renameat(dirfd, temp, dirfd, name); err != nil {
			return errors.Join(err, unix.Unlinkat(dirfd, temp, 0))
		}
		return nil
	})
}

// linkAt returns the directory, ready for a change of the link with that name, and the file there. The caller
// closes the directory unless the error is another one than ENOENT.
func (d layered) linkAt(name string) (layered, entry, error) {
	if err := d.mayChange(name); err != nil {
		return layered{}, entry{}, err
	}
	found, err := d.lookup(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return layered{}, entry{}, err
	}
	if found.dir != nil {
		found.dir.close()
	}
	at, raising := d.raised()
	if raising != nil {
		return layered{}, entry{}, raising
	}
	if _, looking := at.upper.raw(name); errors.Is(looking, fs.ErrNotExist) && (err != nil || found.info.Mode&fs.ModeSymlink != 0) {
		t := Touched{Path: at.relative(name), Absent: err != nil, Mode: found.info.Mode, Target: found.target}
		t.Check = func() error {
			again, looking := d.lookup(name)
			if again.dir != nil {
				again.dir.close()
			}
			if errors.Is(looking, fs.ErrNotExist) != t.Absent || again.info != found.info {
				return errMoved
			}
			return nil
		}
		if touching := at.touch(t); touching != nil {
			at.close()
			return layered{}, entry{}, touching
		}
	}
	return at, found, err
}

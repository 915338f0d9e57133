package workspace

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// copyFile copies a regular file of the directory below. It gets its name when it is complete and its base is
// recorded: the base is read from the copy, so it has the same bytes whatever other programs write meanwhile.
func (d layered) copyFile(name string, t Touched) error {
	from, err := openUnleased(d.lower, name)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // nothing was written
	var found unix.Stat_t
	if err := control(from, func(fd int) error { return unix.Fstat(fd, &found) }); err != nil {
		return err
	}
	if !isType(&found, unix.S_IFREG) {
		return errMoved
	}
	fd, err := d.upper.openat(".", unix.O_TMPFILE|unix.O_RDWR)
	if err != nil {
		return err
	}
	to := os.NewFile(uintptr(fd), name)
	defer to.Close() //nolint:errcheck // it was flushed
	if err := fill(to, from); err != nil {
		return err
	}
	const tick = 20 * time.Millisecond // more than that of a file system's clock
	if time.Since(infoOfStat(&found).changed()) < tick && !sameBytes(to, from) {
		return errMoved // a program is writing to it
	}
	t.Mode = modeOf(found.Mode)
	t.Check = func() error { return d.same(name, true, &found) }
	t.Open = func() (*os.File, error) { return os.Open(fdPath(fd)) }
	if err := t.Check(); err != nil {
		return err
	}
	if err := d.touch(t); err != nil {
		return err
	}
	err = control(d.upper.file, func(dirfd int) error {
		return unix.Linkat(unix.AT_FDCWD, fdPath(fd), dirfd, name, unix.AT_SYMLINK_FOLLOW)
	})
	if errors.Is(err, fs.ErrExist) {
		return nil // another call was first
	}
	return err
}

func (i Info) changed() time.Time { return time.Unix(0, max(i.MtimeNS, i.CtimeNS)) }

// sameBytes reports whether both files have the same content.
func sameBytes(a, b *os.File) bool {
	var one, two [32 << 10]byte
	for offset := int64(0); ; {
		n, err := a.ReadAt(one[:], offset)
		m, err2 := b.ReadAt(two[:], offset)
		if !bytes.Equal(one[:n], two[:m]) || err != nil && err != io.EOF || err2 != nil && err2 != io.EOF { //nolint:errorlint // never wrapped
			return false
		}
		if n == 0 {
			return true
		}
		offset += int64(n)
	}
}

// fill copies content and attributes, and flushes the copy.
func fill(to, from *os.File) error {
	err := control(to, func(dst int) error {
		return control(from, func(src int) error { return unix.IoctlFileClone(dst, src) })
	})
	if err != nil {
		if _, err := io.Copy(to, from); err != nil {
			return err
		}
	}
	if err := copyAttributes(to, from); err != nil {
		return err
	}
	return to.Sync()
}

// copyDirNamed creates the directory above one of the directory below.
func (d layered) copyDirNamed(name string) error {
	c, err := d.child(name, unix.O_PATH)
	if errors.Is(err, errIndirect) {
		err = errMoved
	}
	if err != nil {
		return err
	}
	defer c.close()
	if c.upper.exists() {
		return nil
	}
	return d.copyDir(name, c.lower)
}

// copyDir creates the directory above like.
func (d layered) copyDir(name string, like fdDirectory) error {
	temp := hiddenName()
	return control(d.upper.file, func(dirfd int) error {
		if err := unix.Mkdirat(dirfd, temp, 0o700); err != nil {
			return err
		}
		made, err := d.upper.openat(temp, unix.O_RDONLY|unix.O_DIRECTORY)
		if err == nil {
			dir := os.NewFile(uintptr(made), temp)
			err = copyAttributes(dir, like.file)
			_ = dir.Close() // nothing was written to it
		}
		if err == nil {
			err = unix.Renameat2(dirfd, temp, dirfd, name, unix.RENAME_NOREPLACE)
		}
		if err != nil {
			_ = unix.Unlinkat(dirfd, temp, unix.AT_REMOVEDIR) // the other error is returned
		}
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	})
}

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func (d layered) list(rel string) (listing, error) {
	c, err := d.child(rel, unix.O_RDONLY)
	if err != nil {
		return listing{}, err
	}
	if !c.upper.exists() {
		return listing{listOf(c.lower.file, c).names, c}, nil
	}
	return listing{c.names, c}, nil
}

// names yields the names of both directories, once.
func (d layered) names(buf []byte, yield func(Name) bool) error {
	seen := make(map[string]bool)
	more := true
	err := readNames(d.upper.file, d.upper, buf, func(n Name) bool {
		if strings.HasPrefix(n.Name, hiddenPrefix) {
			return true
		}
		if d.lower.exists() {
			seen[n.Name] = true
		}
		if n.Type&fs.ModeCharDevice != 0 {
			if st, err := d.upper.raw(n.Name); err != nil || isWhiteout(&st) {
				return true
			}
		}
		more = yield(n)
		return more
	})
	if err != nil || !more || !d.lower.exists() {
		return err
	}
	return readNames(d.lower.file, d.lower, buf, func(n Name) bool { return seen[n.Name] || yield(n) })
}

func (d layered) lstat(name string) (Info, error) {
	var st unix.Stat_t
	var covers bool
	err := d.above(name, func(dirfd int, name string, hidden bool) (err error) {
		if st, err = statIn(dirfd, name); err != nil {
			return err
		}
		if isWhiteout(&st) {
			return errWhiteout
		}
		covers = !hidden && shows(dirfd, name, &st)
		return nil
	})
	switch {
	case err == errBelow: //nolint:errorlint // not wrapped
		return d.lower.lstat(name)
	case err != nil:
		return Info{}, err
	case covers:
		return d.merged(name, infoOfStat(&st)), nil
	}
	return infoOfStat(&st), nil
}

func (d layered) lookup(name string) (entry, error) {
	from := d.lower
	if d.upper.exists() {
		st, err := d.upper.raw(name)
		switch {
		case err == nil && isWhiteout(&st):
			return entry{}, errWhiteout
		case err == nil || err != unix.ENOENT: //nolint:errorlint // a bare errno
			from = d.upper
		}
	}
	if !from.exists() {
		return entry{}, syscall.ENOENT
	}
	e, err := from.lookup(name)
	if err != nil || e.dir == nil {
		return e, err
	}
	e.dir.close()
	c, err := d.child(name, unix.O_PATH)
	if errors.Is(err, errIndirect) {
		err = errMoved
	}
	if err != nil {
		return entry{}, err
	}
	if e.info, err = c.own(); err != nil {
		c.close()
		return entry{}, err
	}
	e.dir = c
	return e, nil
}

func (d layered) openEntry(name string) (*os.File, error) {
	fd := -1
	err := d.above(name, func(dirfd int, name string, _ bool) (err error) {
		fd, err = openElement(dirfd, name, unix.O_RDONLY|openFlags)
		if err == unix.ELOOP { //nolint:errorlint // a bare errno
			err = errMoved
		}
		return err
	})
	switch {
	case err == errBelow: //nolint:errorlint // not wrapped
		return d.lower.openEntry(name)
	case err != nil:
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

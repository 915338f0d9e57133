package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// layered is a directory of an [Overlay]: the directory below together with the changes in the upper one.
//
// While the upper directory has no entry on a path, one call opens the file below. A link is always followed
// by a walk, because the two directories may disagree about its target.
type layered struct {
	overlay *Overlay
	rel     string      // below Overlay.Dir
	upper   fdDirectory // without a file: there is none
	lower   fdDirectory // without a file: there is none, or upper hides it
}

var (
	// errBelow: the upper directory has no entry on the path and hides nothing.
	errBelow = errors.New("path is only in the directory below")
	// errWhiteout: the upper directory removes the file.
	errWhiteout = fmt.Errorf("removed in the fork: %w", syscall.ENOENT)
)

const opaqueAttribute = "user.overlay.opaque"

// opener returns the func that opens the directory with its changes.
func (o Overlay) opener() (func(path string) (directory, error), error) {
	open := func(path string) (directory, error) {
		lower, err := openDirectory(path)
		if err != nil {
			return nil, err
		}
		upper, err := openDirectory(o.Upper)
		if err != nil {
			lower.close()
			return nil, err
		}
		d := layered{overlay: &o, rel: "."}
		var ok [2]bool
		d.lower, ok[0] = lower.(fdDirectory)
		d.upper, ok[1] = upper.(fdDirectory)
		if !ok[0] || !ok[1] {
			lower.close()
			upper.close()
			return nil, errors.ErrUnsupported
		}
		return d, nil
	}
	dir, err := open(o.Dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, unsupportedFork("the system call openat2 is not available", err)
	}
	if err == nil {
		dir.close() // it is opened again on first use
	}
	return open, nil
}

func (d fdDirectory) exists() bool { return d.file != nil }

// isWhiteout reports whether a file of an upper directory removes the one below.
func isWhiteout(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0 }

func isType(st *unix.Stat_t, kind uint32) bool { return st.Mode&unix.S_IFMT == kind }

func statIn(dirfd int, name string) (st unix.Stat_t, err error) {
	err = unix.Fstatat(dirfd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

func (d fdDirectory) raw(name string) (st unix.Stat_t, err error) {
	err = control(d.file, func(dirfd int) error {
		st, err = statIn(dirfd, name)
		return err
	})
	return st, err
}

// enter opens a directory that is an entry of an upper one, and reports whether it hides the one below.
func enter(dirfd int, name string) (fd int, opaque bool, err error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err = uninterrupted(func() (int, error) { return unix.Openat(dirfd, name, unix.O_RDONLY|flags, 0) })
	var value [2]byte
	var n int
	if err == unix.EACCES { //nolint:errorlint // a bare errno
		if fd, err = uninterrupted(func() (int, error) { return unix.Openat(dirfd, name, unix.O_PATH|flags, 0) }); err == nil {
			n, err = unix.Getxattr(fdPath(fd), opaqueAttribute, value[:])
			return fd, err == nil && n == 1 && value[0] == 'y', nil
		}
	}
	if err == nil {
		n, err = unix.Fgetxattr(fd, opaqueAttribute, value[:])
		return fd, err == nil && n == 1 && value[0] == 'y', nil
	}
	if err != unix.ENOTDIR && err != unix.ELOOP { //nolint:errorlint // bare errnos
		return -1, false, err
	}
	st, looking := statIn(dirfd, name)
	switch {
	case looking != nil:
		return -1, false, errMoved
	case isWhiteout(&st):
		return -1, false, errWhiteout
	case isType(&st, unix.S_IFLNK):
		return -1, false, errIndirect
	}
	return -1, false, unix.ENOTDIR
}

func fdPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// above calls use with the upper directory that contains rel, and the last element; hidden: the directory
// below it is hidden. It returns errBelow if the file can only be in the directory below.
func (d layered) above(rel string, use func(dirfd int, name string, hidden bool) error) error {
	if !d.upper.exists() {
		return errBelow
	}
	hidden := !d.lower.exists()
	err := control(d.upper.file, func(top int) error {
		at := top
		for {
			name, rest, more := strings.Cut(rel, "/")
			if name == ".." {
				return errIndirect
			}
			if !more {
				err := use(at, name, hidden)
				if at != top {
					_ = unix.Close(at)
				}
				return err
			}
			next, opaque, err := enter(at, name)
			if at != top {
				_ = unix.Close(at)
			}
			if err != nil {
				return err
			}
			at, hidden, rel = next, hidden || opaque, rest
		}
	})
	if errors.Is(err, unix.ENOENT) && !errors.Is(err, errWhiteout) && !hidden {
		return errBelow
	}
	return err
}

// below converts an error of the directory below. A directory above may cover a file or a link on the way,
// which a walk finds out.
func (d layered) below(err error) error {
	if err == unix.ELOOP || err == unix.ENOTDIR && d.upper.exists() { //nolint:errorlint // bare errnos
		return errIndirect
	}
	return err
}

func (d layered) open(rel string) (*os.File, error) {
	if rel == "." {
		return d.top().open(".")
	}
	fd, err := d.find(rel, unix.O_RDONLY|openFlags)
	if err == errBelow { //nolint:errorlint // not wrapped
		fd, err = d.lower.openBelow(rel, unix.O_RDONLY|openFlags, unix.RESOLVE_NO_SYMLINKS)
		err = d.below(err)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), rel), nil
}

// find opens a file in the upper directory. It returns errBelow if the file can only be in the directory
// below.
func (d layered) find(rel string, flags uint64) (int, error) {
	if !d.upper.exists() {
		return -1, errBelow
	}
	first, _, deep := strings.Cut(rel, "/")
	hidden := !d.lower.exists()
	if deep && !hidden {
		opaque, err := d.opaque(first)
		if err == unix.ENOENT { //nolint:errorlint // a bare errno
			return -1, errBelow
		}
		hidden = opaque
	}
	fd, err := d.upper.openBelow(rel, flags, unix.RESOLVE_NO_SYMLINKS)
	switch err { //nolint:errorlint // bare errnos
	case unix.ELOOP:
		err = errIndirect
	case unix.ENOENT:
		if !hidden && (!deep || !d.hides(filepath.Dir(rel), len(first))) {
			err = errBelow
		}
	case unix.ENXIO, unix.ENOTDIR: // perhaps a whiteout, or a parent is one
		looking := d.above(rel, func(dirfd int, name string, _ bool) error {
			if st, err := statIn(dirfd, name); err != nil {
				return err
			} else if isWhiteout(&st) {
				return errWhiteout
			}
			return nil
		})
		if looking != nil {
			err = looking
		}
	}
	return fd, err
}

// hides reports whether a directory of the upper one, or a parent of it, hides the one below. known is the
// length of a parent of which it is known that it does not.
func (d layered) hides(rel string, known int) bool {
	if !d.lower.exists() {
		return true
	}
	for end := known; end < len(rel) && rel != "."; {
		if next := strings.IndexByte(rel[end+1:], '/'); next < 0 {
			end = len(rel)
		} else {
			end += 1 + next
		}
		opaque, err := d.opaque(rel[:end])
		if opaque || err == unix.ENOENT { //nolint:errorlint // a bare errno
			return opaque
		}
	}
	return false
}

// openElement opens an element of an upper directory, which may be a whiteout.
func openElement(dirfd int, name string, flags int) (fd int, err error) {
	fd, err = uninterrupted(func() (int, error) {
		return unix.Openat(dirfd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err == unix.ENXIO { //nolint:errorlint // a bare errno
		if st, looking := statIn(dirfd, name); looking == nil && isWhiteout(&st) {
			err = errWhiteout
		}
	}
	return fd, err
}

// top returns the directory whose descriptor stands for both.
func (d layered) top() fdDirectory {
	if d.upper.exists() {
		return d.upper
	}
	return d.lower
}

func (d layered) stat(rel string) (Info, error) {
	if rel == "." {
		return d.own()
	}
	above := true
	fd, err := d.find(rel, unix.O_PATH)
	if err == errBelow { //nolint:errorlint // not wrapped
		above = false
		fd, err = d.lower.openBelow(rel, unix.O_PATH, unix.RESOLVE_NO_SYMLINKS)
		err = d.below(err)
	}
	if err != nil {
		return Info{}, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Info{}, err
	}
	switch {
	case above && isWhiteout(&st):
		return Info{}, errWhiteout
	case above && isType(&st, unix.S_IFDIR) && !d.hides(rel, 0):
		return d.merged(rel, infoOfStat(&st)), nil
	}
	return infoOfStat(&st), nil
}

// shows reports whether an entry of an upper directory is a directory that shows the one below.
func shows(dirfd int, name string, st *unix.Stat_t) bool {
	if !isType(st, unix.S_IFDIR) {
		return false
	}
	fd, opaque, err := enter(dirfd, name)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return !opaque
}

// merged returns the description of a directory that is in both: its identity is that of the one below,
// which stays when the other one is created.
func (d layered) merged(rel string, info Info) Info {
	fd, err := d.lower.openBelow(rel, unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return info
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return info
	}
	return identityOf(info, infoOfStat(&st))
}

func identityOf(info, below Info) Info {
	info.Dev, info.Ino, info.Nlink = below.Dev, below.Ino, below.Nlink
	return info
}

func (d layered) identity() (Info, error) {
	if d.lower.exists() {
		return d.lower.identity()
	}
	return d.upper.identity()
}

// own describes the directory itself.
func (d layered) own() (Info, error) {
	info, err := d.top().identity()
	if err == nil && d.upper.exists() && d.lower.exists() {
		below, err := d.lower.identity()
		return identityOf(info, below), err
	}
	return info, err
}

// child opens a directory. Both of its descriptors are readable if the directories are.
func (d layered) child(rel string, flags uint64) (layered, error) {
	c := layered{overlay: d.overlay, rel: filepath.Join(d.rel, rel)}
	if rel == "." {
		return d.again(flags)
	}
	fd, err := d.find(rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == unix.EACCES && flags&unix.O_PATH != 0 { //nolint:errorlint // a bare errno
		fd, err = d.find(rel, flags|unix.O_DIRECTORY)
	}
	switch {
	case err == nil:
		c.upper = fdDirectory{file: os.NewFile(uintptr(fd), rel)}
		if d.hides(rel, 0) {
			return c, nil
		}
	case err != errBelow: //nolint:errorlint // not wrapped
		return c, err
	}
	fd, err = d.lower.openBelow(rel, flags|unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS)
	switch {
	case err == nil:
		c.lower = fdDirectory{file: os.NewFile(uintptr(fd), rel)}
	case !c.upper.exists():
		return c, d.below(err)
	case err != unix.ENOENT && err != unix.ENOTDIR && err != unix.ELOOP: //nolint:errorlint // bare errnos
		c.close()
		return c, err
	}
	return c, nil
}

// again opens the directory itself again.
func (d layered) again(flags uint64) (layered, error) {
	c := layered{overlay: d.overlay, rel: d.rel}
	for from, to := range map[fdDirectory]*fdDirectory{d.upper: &c.upper, d.lower: &c.lower} {
		if !from.exists() {
			continue
		}
		fd, err := from.openBelow(".", flags|unix.O_DIRECTORY, 0)
		if err != nil {
			c.close()
			return c, err
		}
		*to = fdDirectory{file: os.NewFile(uintptr(fd), ".")}
	}
	return c, nil
}

func (d layered) parent(rel string) (directory, error) {
	c, err := d.child(rel, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (d layered) close() {
	for _, dir := range []fdDirectory{d.upper, d.lower} {
		if dir.exists() {
			dir.close()
		}
	}
}

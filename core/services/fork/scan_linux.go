package fork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// scan records the bases of the files that a command has changed in an upper directory. A mounted
// overlay may show a file as it was before another program has replaced it, so the file of the directory
// is the base only if it has certainly not changed since start:
//
//   - Each change of a file sets its time of change, and so does a move to another name or directory.
//   - Creating, removing and moving an entry sets the time of change of the directory that contains it.
//   - A directory is the one that the command saw if neither has changed: itself, or the one that
//     contains it.
type scan struct {
	f     *Fork
	dir   int // index of Info.Dirs
	start time.Duration
	gone  int // files below that removed or replaced directories hide
}

// maxGone is the number of files in removed directories whose bytes are kept as bases, for one command.
const maxGone = 1000

// lower is an entry of a directory below, or the absence of one.
type lower struct {
	fd    int // -1: absent
	stat  unix.Stat_t
	doubt string // why it may not be what the command saw
}

func (l *lower) close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
	}
}

func (l *lower) isDir() bool { return l.fd >= 0 && l.stat.Mode&unix.S_IFMT == unix.S_IFDIR }

// top scans the whole upper directory. root is the directory below.
func (s *scan) top(ctx context.Context, root int, doubt string) error {
	below := &lower{fd: root, doubt: doubt}
	if err := unix.Fstat(root, &below.stat); err != nil {
		return err
	}
	return s.upper(ctx, "", below, false)
}

// settled reports whether a time of change is certainly before start. A file system may round down to
// less than a tick of the clock, and to two seconds if there is no fraction.
func (s *scan) settled(stat *unix.Stat_t) bool {
	const tick, rounded = 10 * time.Millisecond, 2 * time.Second
	before := s.start - tick
	if stat.Ctim.Nsec == 0 {
		before -= rounded
	}
	return time.Duration(stat.Ctim.Nano()) < before
}

// child returns an entry of a directory below.
func (s *scan) child(in *lower, name, rel string) (*lower, error) {
	l := &lower{fd: -1, doubt: in.doubt}
	if !in.isDir() {
		return l, nil
	}
	fd, err := unix.Openat(in.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case err == nil:
		l.fd = fd
		err = unix.Fstat(fd, &l.stat)
	case errors.Is(err, unix.ENOENT):
		err = nil
	case errors.Is(err, unix.EACCES):
		l.doubt, err = "the directory that contains it cannot be read", nil
	}
	if err == nil && l.doubt == "" {
		var now unix.Stat_t // read last: the entry is that of this time
		err = unix.Fstat(in.fd, &now)
		settled := s.settled(&now)
		switch {
		case settled, l.fd >= 0 && s.settled(&l.stat):
		case l.fd < 0:
			l.doubt = "files were added to its directory, or removed from it, while the command ran or shortly before"
		case l.isDir():
			l.doubt = fmt.Sprintf("the directory %s was changed or moved while the command ran or shortly before", rel)
		default:
			l.doubt = "it was changed while the command ran or shortly before"
		}
		if l.doubt == "" && l.fd >= 0 && !l.isDir() && !s.settled(&l.stat) {
			l.doubt = "it was changed while the command ran or shortly before"
		}
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("inspect %s: %w", rel, err)
	}
	return l, nil
}

// upper scans a directory of the upper one. opaque states that it hides the one below.
func (s *scan) upper(ctx context.Context, rel string, below *lower, opaque bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := filepath.Join(s.f.upper(s.dir), rel)
	entries, err := os.ReadDir(name)
	if errors.Is(err, fs.ErrPermission) { // a command has made it unreadable
		if err = os.Chmod(name, 0o700); err == nil { //nolint:gosec // of the user's own directory
			entries, err = os.ReadDir(name)
		}
	}
	if err != nil {
		return err
	}
	has := make(map[string]bool, len(entries))
	for _, e := range entries {
		has[e.Name()] = true
		if err := s.entry(ctx, filepath.Join(rel, e.Name()), e, below, opaque); err != nil {
			return err
		}
	}
	if opaque {
		return s.hidden(ctx, rel, below, has)
	}
	return nil
}

// entry records the base of an entry of the upper directory, and of those that it hides.
func (s *scan) entry(ctx context.Context, rel string, e fs.DirEntry, in *lower, opaque bool) error {
	if inGit(rel) {
		return nil
	}
	name := filepath.Join(s.f.upper(s.dir), rel)
	whiteout := e.Type()&fs.ModeCharDevice != 0 && isWhiteout(name)
	if !e.IsDir() && !whiteout && s.f.known(place{s.dir, rel}) {
		return nil
	}
	below, err := s.child(in, e.Name(), rel)
	if err != nil {
		return err
	}
	defer below.close()
	switch {
	case whiteout && below.isDir():
		return s.hidden(ctx, rel, below, nil)
	case !e.IsDir():
		return s.record(ctx, rel, below)
	}
	if below.fd >= 0 && !below.isDir() { // a directory has replaced the file
		if err := s.record(ctx, rel, below); err != nil {
			return err
		}
	}
	return s.upper(ctx, rel, below, opaque || isOpaque(name))
}

// hidden records the files of a directory below that the upper one hides. has contains the names that are
// in the upper one.
func (s *scan) hidden(ctx context.Context, rel string, in *lower, has map[string]bool) error {
	if !in.isDir() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	dir, err := os.Open(procPath(in.fd))
	if errors.Is(err, fs.ErrPermission) {
		return nil // without records its files stay
	}
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close() // it was only read
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(rel, name)
		if has[name] || inGit(path) {
			continue
		}
		below, err := s.child(in, name, path)
		if err != nil {
			return err
		}
		if below.isDir() {
			err = s.hidden(ctx, path, below, nil)
		} else if below.fd >= 0 { // otherwise it was removed meanwhile
			s.gone++
			err = s.record(ctx, path, below)
		}
		below.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// errChanged is the reason why a file that was read is not the base.
var errChanged = errors.New("it was changed while it was read")

// record records the base of a file, unless one is recorded.
func (s *scan) record(ctx context.Context, rel string, below *lower) error {
	if s.f.known(place{s.dir, rel}) {
		return nil
	}
	t := Touch{Dir: s.dir, Path: rel, Absent: below.fd < 0, Doubt: below.doubt}
	keep := s.f.keep
	if s.gone > maxGone {
		keep = digest
	}
	if below.fd >= 0 {
		t.Base = modeOf(below.stat.Mode)
		t.Open = func() (*os.File, error) { return os.Open(procPath(below.fd)) }
		t.Check = func() error {
			var now unix.Stat_t
			if err := unix.Fstat(below.fd, &now); err != nil {
				return err
			}
			if now.Ctim != below.stat.Ctim || now.Mtim != below.stat.Mtim || now.Size != below.stat.Size || now.Mode != below.stat.Mode {
				return errChanged
			}
			return nil
		}
		if t.Base&fs.ModeSymlink != 0 {
			target := make([]byte, unix.PathMax)
			n, err := unix.Readlinkat(below.fd, "", target)
			if err != nil {
				return fmt.Errorf("read the link %s: %w", rel, err)
			}
			t.Target = string(target[:n])
		}
		if t.Base.IsRegular() && t.Doubt == "" && unix.Faccessat(unix.AT_FDCWD, procPath(below.fd), unix.R_OK, unix.AT_EACCESS) != nil {
			t.Doubt = "it cannot be read"
		}
	}
	err := s.f.touch(ctx, t, keep)
	if errors.Is(err, errChanged) {
		t.Doubt = errChanged.Error()
		err = s.f.touch(ctx, t, keep)
	}
	return err
}

// known reports whether a base is recorded.
func (f *Fork) known(p place) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.bases.at[p]
	return ok
}

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func modeOf(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	default:
		m |= fs.ModeIrregular
	}
	return m
}

//go:build linux && (amd64 || arm64)

package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Commands of fsconfig.
const (
	setFlag   = 0 // FSCONFIG_SET_FLAG
	setString = 1 // FSCONFIG_SET_STRING
	create    = 6 // FSCONFIG_CMD_CREATE
)

// overlay mounts an overlay for a later attach. Without write, Upper is one of its read-only layers,
// so that any number of them can be mounted at a time.
//
// The layers are passed as descriptors: their paths may be of any length and contain any character,
// and the command cannot learn them from its list of mounts.
func (p *program) overlay(o *Overlay, slot int, attributes uint64, write bool) error {
	fs, upper := p.slot(), ""
	step := "mount an overlay on " + o.Dir
	lower, err := p.layer(o.Dir)
	if err == nil {
		upper, err = p.layer(o.Upper)
	}
	if err != nil {
		return err
	}
	options := [][2]string{{"lowerdir", upper + ":" + lower}}
	if write {
		work, err := p.layer(o.Work)
		if err != nil {
			return err
		}
		options = [][2]string{{"lowerdir", lower}, {"upperdir", upper}, {"workdir", work}, {"index", "off"}}
	}
	p.call(step, unix.SYS_FSOPEN, p.text("overlay"), unix.FSOPEN_CLOEXEC).to(fs)
	for _, option := range append(options, [2]string{"xino", "off"}) {
		p.call(step, unix.SYS_FSCONFIG, 0, setString, p.text(option[0]), p.text(option[1]), 0).from(fs)
	}
	p.call(step, unix.SYS_FSCONFIG, 0, setFlag, p.text("userxattr"), 0, 0).from(fs)
	p.call(step, unix.SYS_FSCONFIG, 0, create, 0, 0, 0).from(fs)
	p.call(step, unix.SYS_FSMOUNT, 0, unix.FSMOUNT_CLOEXEC, uintptr(attributes)).from(fs).to(slot)
	p.call(step, unix.SYS_CLOSE).from(fs)
	return nil
}

// layer opens a directory in the child and returns a path of the descriptor.
func (p *program) layer(dir string) (string, error) {
	number, err := p.number()
	if err != nil {
		return "", err
	}
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	opened := p.slot()
	p.call("open "+dir, unix.SYS_OPENAT2, atCWD, p.text(dir), address(p, how), unix.SizeofOpenHow).to(opened)
	p.call("open "+dir, unix.SYS_DUP3, 0, uintptr(number), unix.O_CLOEXEC).from(opened) //nolint:gosec // a descriptor
	p.call("open "+dir, unix.SYS_CLOSE).from(opened)
	return "/proc/self/fd/" + strconv.Itoa(number), nil
}

// overlay returns the overlay of a directory, or nil.
func (r *Rules) overlay(dir string) *Overlay {
	for i := range r.Overlays {
		if r.Overlays[i].Dir == dir {
			return &r.Overlays[i]
		}
	}
	return nil
}

// check returns an error if a command could pass an overlay by. aliases are the paths by which it
// would see a layer.
func (r *Rules) check() (aliases []string, err error) {
	if len(r.Overlays) == 0 {
		return nil, nil
	}
	mounts, err := mountTable()
	if err != nil {
		return nil, err
	}
	for _, o := range r.Overlays {
		fail := func(format string, args ...any) error {
			return &Error{Step: "mount an overlay on " + o.Dir, Err: fmt.Errorf(format, args...)}
		}
		if !slices.Contains(r.Writable, o.Dir) {
			return nil, fail("it is not a writable directory")
		}
		for _, dir := range r.Writable {
			if Below(dir, o.Upper) || Below(dir, o.Work) {
				return nil, fail("%s contains its changes", dir)
			}
			if dir != o.Dir && (Below(o.Dir, dir) || r.overlay(dir) != nil && Below(dir, o.Dir)) {
				return nil, fail("%s overlaps with it", dir)
			}
		}
		if m := mounts.below(o.Dir); m != "" {
			return nil, fail("another file system is mounted on %s", m)
		}
		aliases = append(aliases, o.Upper, o.Work)
		for _, dir := range []string{o.Dir, o.Upper, o.Work} {
			aliases = append(aliases, mounts.aliases(dir)...)
		}
	}
	slices.Sort(aliases)
	aliases = slices.Compact(aliases)
	return slices.DeleteFunc(aliases, func(path string) bool { return r.overlay(path) != nil }), nil
}

// Lstat is [os.Lstat] for a path as the command sees it.
func (r *Rules) Lstat(path string) (fs.FileInfo, error) {
	_, info, err := r.layered(path)
	return info, err
}

// existing returns the paths that exist as the command sees them.
func (r *Rules) existing(paths []string) []string {
	if len(r.Overlays) == 0 {
		return paths
	}
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := r.Lstat(path)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// find returns the path of the uppermost file with a relative path in its layer.
func (o *Overlay) find(rel string) (path string, info fs.FileInfo, err error) {
	upper, lower := o.Upper+"/"+rel, o.Dir+"/"+rel
	lstat := func(path string) (string, fs.FileInfo, error) {
		info, err := os.Lstat(path)
		return path, info, err
	}
	missing := &fs.PathError{Op: "lstat", Path: lower, Err: fs.ErrNotExist}
	for at := 0; at < len(rel); at++ { // parents may be new, removed or replaced
		end := strings.IndexByte(rel[at:], '/')
		if end < 0 {
			break
		}
		at += end
		parent := o.Upper + "/" + rel[:at]
		info, err := os.Lstat(parent)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return lstat(lower)
		case err != nil:
			return "", nil, err
		case !info.IsDir():
			return "", nil, missing
		case opaque(parent):
			return lstat(upper)
		}
		if below, err := os.Lstat(o.Dir + "/" + rel[:at]); err != nil || !below.IsDir() {
			return lstat(upper) // another file is hidden by the directory
		}
	}
	info, err = os.Lstat(upper)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return lstat(lower)
	case err == nil && isWhiteout(info):
		return "", nil, missing
	}
	return upper, info, err
}

// layered returns the path at which this process finds a file that the command sees at path.
func (r *Rules) layered(path string) (string, fs.FileInfo, error) {
	for _, o := range r.Overlays {
		if path != o.Dir && Below(o.Dir, path) {
			return o.find(path[len(o.Dir)+1:])
		}
	}
	info, err := os.Lstat(path)
	return path, info, err
}

// Resolve is [filepath.EvalSymlinks] for an absolute path as the command sees it.
func (r *Rules) Resolve(path string) (string, error) {
	if len(r.Overlays) == 0 {
		return filepath.EvalSymlinks(path)
	}
	const most = 255 // links
	at, links := "/", 0
	for todo := strings.Split(path, "/"); len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == "" || name == "." {
			continue
		}
		next := filepath.Join(at, name)
		if name == ".." {
			at = next
			continue
		}
		real, info, err := r.layered(next)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := os.Readlink(real)
		if links++; links > most {
			err = &fs.PathError{Op: "resolve", Path: path, Err: syscall.ELOOP}
		}
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return at, nil
}

// isWhiteout reports whether a file of an upper directory marks a removed one.
func isWhiteout(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && stat.Rdev == 0
}

// opaque reports whether a directory of an upper directory hides the one below.
func opaque(dir string) bool {
	var value [1]byte
	n, err := unix.Lgetxattr(dir, "user.overlay.opaque", value[:])
	return err == nil && n == 1 && value[0] == 'y'
}

// mountEntry is a mounted file system.
type mountEntry struct {
	device string // major:minor
	root   string // the directory of the file system that is shown
	path   string // where it is shown
}

type mountEntries []mountEntry

// mountTable returns the mounts of this process.
func mountTable() (all mountEntries, err error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, &Error{Step: "list mounts", Err: err}
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 5 {
			return nil, &Error{Step: "list mounts", Err: errors.New("a line is too short")}
		}
		all = append(all, mountEntry{device: f[2], root: unescape(f[3]), path: unescape(f[4])})
	}
	return all, nil
}

// unescape replaces the octal numbers that mountinfo contains instead of blanks and the like.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// below returns the path of a mount in a directory; "" if there is none.
func (all mountEntries) below(dir string) string {
	for _, m := range all {
		if m.path != dir && Below(dir, m.path) {
			return m.path
		}
	}
	return ""
}

// aliases returns the other paths of a directory, and of directories in it, that other mounts of its
// file system show.
func (all mountEntries) aliases(dir string) (paths []string) {
	var own mountEntry
	for _, m := range all { // the last of equal ones covers the others
		if Below(m.path, dir) && len(m.path) >= len(own.path) {
			own = m
		}
	}
	inner := join(own.root, rest(own.path, dir))
	add := func(path, same string) {
		a, err1 := os.Lstat(path)
		b, err2 := os.Lstat(same)
		if path != same && err1 == nil && err2 == nil && os.SameFile(a, b) { // another mount may cover the path
			paths = append(paths, path)
		}
	}
	for _, m := range all {
		switch {
		case m.device != own.device:
		case Below(m.root, inner):
			add(join(m.path, rest(m.root, inner)), dir)
		case Below(inner, m.root):
			add(m.path, join(dir, rest(inner, m.root)))
		}
	}
	return paths
}

// rest returns the part of path below dir.
func rest(dir, path string) string {
	return strings.TrimPrefix(path[len(dir):], "/")
}

func join(dir, rest string) string {
	return filepath.Join(cmp.Or(dir, "/"), rest)
}

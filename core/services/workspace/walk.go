package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// maxLinks limits the links in the path of one name, as Linux does.
const maxLinks = 40

// spot is the end of a walked name: an element of an open directory that is not a link, or was not
// one when checked.
type spot struct {
	dir    directory // valid during the walk's callback
	name   string    // "." for a workspace directory itself
	info   Info      // zero unless exists
	exists bool
}

func (s spot) stat() (Info, error) {
	if !s.exists {
		return Info{}, syscall.ENOENT
	}
	return s.info, nil
}

func (s spot) open() (*os.File, error) {
	if s.name == "." {
		return s.dir.open(".")
	}
	return openUnleased(s.dir, s.name)
}

// openUnleased opens an element of a directory for reading. The open breaks a lease that another
// program holds on the file, as fettle does during a rewrite; the holder has a moment to release it
// before the open fails with EAGAIN.
func openUnleased(dir directory, name string) (*os.File, error) {
	const longest, pause = 100 * time.Millisecond, 2 * time.Millisecond
	for start := time.Now(); ; time.Sleep(pause) {
		f, err := dir.openEntry(name)
		if !errors.Is(err, syscall.EAGAIN) || time.Since(start) >= longest {
			return f, err
		}
	}
}

func (s spot) list() (listing, error) {
	switch {
	case !s.exists:
		return listing{}, syscall.ENOENT
	case !s.info.Mode.IsDir():
		return listing{}, syscall.ENOTDIR
	}
	l, err := s.dir.list(s.name)
	if errors.Is(err, errIndirect) {
		err = errMoved // it is a link now
	}
	return l, err
}

// absent returns the spot of an unused name, in a directory that still exists.
func absent(dir directory, name string) (spot, error) {
	info, err := dir.stat(".")
	if err == nil && info.Nlink == 0 {
		err = syscall.ENOENT
	}
	return spot{dir: dir, name: name}, err
}

// walker follows a name element by element, holding the descriptors of the directories on the way.
// A directory that is replaced by a link meanwhile has no effect, and `..` is the directory from
// which the walk came.
type walker struct {
	w       *Workspace
	frames  []frame  // from the start to the current directory
	rest    []string // elements still to follow
	links   int
	change  bool                             // refuse files in a read-only directory
	create  bool                             // make missing directories
	created func(f frame, name string) error // called for each created directory
}

// frame is one directory of a walk.
type frame struct {
	dir   directory
	path  string // absolute, without links
	owned bool   // close dir with the walk
	root  *root  // the workspace directory that contains it; nil outside of all
	rel   string // path below root
}

// walk follows p, including links, and calls use with the spot at its end, which is in the
// workspace.
func (k *walker) walk(p Path, use func(spot) error) error {
	defer k.close()
	r, err := k.w.rootOf(p)
	if err != nil {
		return err
	}
	if err := k.startAt(r); err != nil {
		return err
	}
	k.rest = elements(p.rel())
	s, err := k.follow()
	if k.top().root == nil {
		return errOutside // regardless of other errors outside
	}
	if k.change && err == nil && s.name != "." {
		err = s.dir.mayChange(s.name)
	}
	if k.change && k.top().root.readOnly {
		return errReadOnly
	}
	if err != nil {
		return err
	}
	return use(s)
}

func (k *walker) top() *frame { return &k.frames[len(k.frames)-1] }

func (k *walker) close() {
	for _, f := range k.frames {
		if f.owned {
			f.dir.close()
		}
	}
	k.frames = nil
}

// startAt makes a workspace directory the only frame.
func (k *walker) startAt(r *root) error {
	dir, err := r.open()
	if err != nil {
		return err
	}
	k.close()
	k.frames = []frame{{dir: dir, path: r.realPath, root: r, rel: "."}}
	return nil
}

// follow consumes the elements.
func (k *walker) follow() (spot, error) {
	for len(k.rest) > 0 {
		name := k.rest[0]
		k.rest = k.rest[1:]
		switch name {
		case "":
			continue
		case "..":
			if err := k.up(); err != nil {
				return spot{}, err
			}
			continue
		}
		top, last := k.top(), len(k.rest) == 0
		e, err := top.dir.lookup(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && last:
			return absent(top.dir, name)
		case errors.Is(err, fs.ErrNotExist) && k.create && top.root != nil && !top.root.readOnly:
			if err := k.mkdir(name); err != nil {
				return spot{}, err
			}
			k.rest = slices.Insert(k.rest, 0, name)
		case err != nil:
			if k.change {
				err = errors.Join(top.dir.mayChange(name), err)
			}
			return spot{}, err
		case e.info.Mode&fs.ModeSymlink != 0:
			if err := k.redirect(e.target); err != nil {
				return spot{}, err
			}
		case e.dir != nil:
			if err := k.push(name, e); err != nil {
				return spot{}, err
			}
		case last:
			return spot{dir: top.dir, name: name, info: e.info, exists: true}, nil
		default:
			return spot{}, syscall.ENOTDIR
		}
	}
	return k.current()
}

// current returns the spot of the current directory. If its parent is in the workspace too, that is
// its name in the parent.
func (k *walker) current() (spot, error) {
	top := k.top()
	info, err := top.dir.stat(".")
	if err != nil {
		return spot{}, err
	}
	s := spot{dir: top.dir, name: ".", info: info, exists: true}
	if n := len(k.frames); n > 1 && k.frames[n-2].root != nil {
		s.dir, s.name = k.frames[n-2].dir, filepath.Base(top.path)
	}
	return s, nil
}

// push enters the directory that lookup found under name.
func (k *walker) push(name string, e entry) error {
	top := k.top()
	f := frame{dir: e.dir, path: filepath.Join(top.path, name), owned: true, root: top.root}
	if top.root != nil {
		f.rel = filepath.Join(top.rel, name)
	} else if f.root = k.w.rootWithIdentity(e.info); f.root != nil {
		// The workspace may show the directory with changes.
		own, err := f.root.open()
		if err != nil {
			e.dir.close()
			return err
		}
		e.dir.close()
		f.dir, f.owned, f.rel = own, false, "."
	}
	k.frames = append(k.frames, f)
	return nil
}

// rootWithIdentity returns the workspace directory that info describes, or nil.
func (w *Workspace) rootWithIdentity(info Info) *root {
	if !info.Identified() {
		return nil
	}
	for _, r := range w.snapshot() {
		dir, err := r.open()
		if err != nil {
			continue
		}
		if own, err := dir.identity(); err == nil && sameFile(own, info) {
			return r
		}
	}
	return nil
}

// up leaves the current directory for its parent.
func (k *walker) up() error {
	if len(k.frames) == 1 {
		return k.restart(filepath.Dir(k.top().path))
	}
	top := k.top()
	if top.owned {
		top.dir.close()
	}
	k.frames = k.frames[:len(k.frames)-1]
	return nil
}

// redirect follows the target of a link. The target must not be cleaned first: `a/..` is a
// different directory if a is a link.
func (k *walker) redirect(target string) error {
	k.links++
	if k.links > maxLinks {
		return syscall.ELOOP
	}
	if target == "" {
		return syscall.ENOENT
	}
	if runtime.GOOS == "windows" && os.IsPathSeparator(target[0]) && filepath.VolumeName(target) == "" {
		target = filepath.VolumeName(k.top().path) + target
	}
	if filepath.IsAbs(target) {
		return k.restart(target)
	}
	k.rest = append(elements(target), k.rest...)
	return nil
}

// restart continues at an absolute name: in the workspace directory with the longest matching name,
// otherwise at the root of the file system, from where the name may lead into the workspace.
func (k *walker) restart(abs string) error {
	volume := filepath.VolumeName(abs)
	names := elements(abs[len(volume):])
	var found *root
	var used int
	for _, r := range k.w.snapshot() {
		for _, directory := range []string{r.name, r.realPath} {
			n := len(filepath.VolumeName(directory))
			prefix := elements(strings.TrimRight(directory[n:], string(filepath.Separator)))
			if strings.EqualFold(directory[:n], volume) && hasPrefix(names, prefix) && (found == nil || len(prefix) > used) {
				found, used = r, len(prefix)
			}
		}
	}
	if found != nil {
		k.rest = append(names[used:], k.rest...)
		return k.startAt(found)
	}
	top := volume + string(filepath.Separator)
	dir, err := k.w.openDir(top)
	if err != nil {
		k.top().root = nil
		return err
	}
	k.close()
	k.frames = []frame{{dir: dir, path: top, owned: true}}
	k.rest = append(names, k.rest...)
	return nil
}

// mkdir creates a directory in the current one. If another process has created the name first, its
// file is checked again.
func (k *walker) mkdir(name string) error {
	top := k.top()
	err := top.dir.mkdir(name, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return k.created(*top, name)
}

// elements splits a path and omits elements without effect, except that a final empty element
// stands for a final separator or `.`: it requires a directory.
func elements(path string) []string {
	names := strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	directory := path != "" && os.IsPathSeparator(path[len(path)-1]) || len(names) > 0 && names[len(names)-1] == "."
	names = slices.DeleteFunc(names, func(name string) bool { return name == "." })
	if directory {
		names = append(names, "")
	}
	return names
}

func hasPrefix(names, prefix []string) bool {
	return len(names) >= len(prefix) && slices.Equal(names[:len(prefix)], prefix)
}

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// RealPath resolves an absolute path, in the workspace or not: the links of its longest existing
// part are followed. Links may change afterwards; a file opened through a [Workspace] is confined
// at the time of opening.
//
// It returns an error if the result is unknown, for example for a dangling link, which a write
// would follow.
func RealPath(path string) (string, error) {
	rest := ""
	for head := filepath.Clean(path); ; head = filepath.Dir(head) {
		real, err := filepath.EvalSymlinks(head)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if info, lerr := os.Lstat(head); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", err
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(head) == head {
			return "", err
		}
		rest = filepath.Join(filepath.Base(head), rest)
	}
}

// RealPath is [RealPath] for a path as the workspace shows it: a link may exist only in a fork.
func (w *Workspace) RealPath(path string) (string, error) {
	if !w.forked {
		return RealPath(path)
	}
	p, err := w.Resolve(path)
	if err != nil {
		return RealPath(path)
	}
	r, err := w.rootOf(p)
	if err != nil {
		return "", err
	}
	k := &walker{w: w}
	defer k.close()
	if err := k.startAt(r); err != nil {
		return "", err
	}
	names := elements(p.rel())
	for i, name := range names {
		links := k.links
		k.rest = []string{name}
		s, err := k.follow()
		rest := filepath.Join(names[i+1:]...)
		switch {
		case errors.Is(err, fs.ErrNotExist) && k.links == links, err == nil && !s.exists && k.links == links:
			return filepath.Join(k.top().path, name, rest), nil
		case err != nil:
			return "", err
		case !s.exists: // a link that leads nowhere
			return "", syscall.ENOENT
		case s.info.Mode.IsDir():
		case rest != "":
			return "", syscall.ENOTDIR
		default:
			return filepath.Join(k.top().path, s.name), nil
		}
	}
	return k.top().path, nil
}

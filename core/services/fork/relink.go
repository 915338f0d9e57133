package fork

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// linkPlace is the directory of a link in a workspace directory.
type linkPlace struct {
	root *os.Root
	dir  *os.File
	name string // in dir
	temp string // a name beside it, the same in each merge
}

func (m *merge) openLink(p planned) (*linkPlace, error) {
	root, err := os.OpenRoot(m.Dirs[p.Dir])
	if err != nil {
		return nil, err
	}
	defer root.Close()
	parent := filepath.Dir(filepath.FromSlash(p.Path))
	if p.Want.Kind == link {
		if err := root.MkdirAll(parent, 0o777); err != nil {
			return nil, err
		}
	}
	l := &linkPlace{name: filepath.Base(filepath.FromSlash(p.Path))}
	l.temp = fmt.Sprintf(".fettle-fork-%.12s", hashOf([]byte(p.Path)))
	if l.root, err = root.OpenRoot(parent); err != nil {
		return nil, err
	}
	if l.dir, err = l.root.Open("."); err != nil {
		_ = l.root.Close()
		return nil, err
	}
	return l, nil
}

func (l *linkPlace) close() {
	_ = l.dir.Close() // it was only read
	_ = l.root.Close()
}

// is reports whether a name is a link to that target; with target "", whether it does not exist.
func (l *linkPlace) is(name, target string) bool {
	now, err := l.root.Readlink(name)
	if target == "" {
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil && now == target
}

// relink changes, creates or removes a link. What another program has put in its place stays.
func (m *merge) relink(p planned) error {
	if err := m.recoverLink(p); err != nil {
		return err
	}
	l, err := m.openLink(p)
	if err != nil {
		return err
	}
	defer l.close()
	switch {
	case l.is(l.name, p.Want.Target):
		return nil
	case !l.is(l.name, p.Base.Target):
		return errStale
	case p.Base.Kind == absent:
		if err = l.root.Symlink(p.Want.Target, l.name); errors.Is(err, fs.ErrExist) {
			return errStale
		}
		return err
	case p.Want.Kind == absent:
		err = renameNew(l.dir, l.name, l.temp)
		if errors.Is(err, errors.ErrUnsupported) {
			return l.root.Remove(l.name)
		}
	default:
		if err := l.root.Symlink(p.Want.Target, l.temp); err != nil {
			return err
		}
		err = exchange(l.dir, l.name, l.temp)
		if errors.Is(err, errors.ErrUnsupported) {
			return l.root.Rename(l.temp, l.name)
		}
	}
	if err != nil {
		return err
	}
	if !l.is(l.temp, p.Base.Target) {
		err = errStale
	}
	return errors.Join(err, l.recover(p))
}

// recoverLink completes or undoes a change of a link that was killed.
func (m *merge) recoverLink(p planned) error {
	if stateOf(m.Dirs[p.Dir], p.Path).hard {
		return nil
	}
	l, err := m.openLink(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.close()
	return l.recover(p)
}

func (l *linkPlace) recover(p planned) error {
	if l.is(l.temp, "") {
		return nil
	}
	changed := l.is(l.name, p.Want.Target)
	switch {
	case l.is(l.temp, p.Base.Target), !changed && p.Want.Target != "" && l.is(l.temp, p.Want.Target):
		return l.root.Remove(l.temp) // it has been replaced, or was not used
	case changed && p.Want.Kind == link: // another program's file was displaced
		if err := exchange(l.dir, l.name, l.temp); err != nil {
			return err
		}
		return l.root.Remove(l.temp)
	case changed:
		return renameNew(l.dir, l.temp, l.name)
	}
	return nil
}

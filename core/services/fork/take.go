package fork

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// take removes merged files from the fork. Where that would show another file, because a directory is
// hidden or the fork is a copy, the fork gets the merged file, which becomes its base.
//
// A removal comes before the record's: a record without a change means nothing, a change without a
// record is a conflict.
func (m *merge) take(ctx context.Context, settled []*item) error {
	opened, err := m.uncover(ctx, settled)
	if err != nil {
		return err
	}
	for _, i := range settled {
		if m.Mode == Copy || m.hiddenNow(i, opened) {
			err = m.restate(i)
		} else {
			err = m.forget(i)
		}
		if err == nil {
			err = m.store.at(StepTaken)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// uncover shows the directories that the fork hides, if nothing in them differs any more.
func (m *merge) uncover(ctx context.Context, settled []*item) (opened []place, err error) {
	if m.Mode == Copy {
		return nil, nil
	}
	is := make(map[place]bool)
	for _, i := range settled {
		is[i.place] = true
	}
	var covers []place
	for _, i := range settled {
		for dir := i.Path; dir != "."; dir = path.Dir(dir) {
			if c := (place{i.dir, dir}); !slices.Contains(covers, c) && m.covers(c) {
				covers = append(covers, c)
			}
		}
	}
	if len(covers) == 0 {
		return nil, nil
	}
	all, err := m.changes(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range covers {
		open := true
		for p := range all {
			if p.dir == c.dir && (p.path == c.path || strings.HasPrefix(p.path, c.path+"/")) && !is[p] {
				open = false
			}
		}
		if !open {
			continue
		}
		name := filepath.Join(m.upper(c.dir), filepath.FromSlash(c.path))
		removed := isWhiteout(name)
		if removed {
			err = os.Remove(name)
		} else {
			err = clearOpaque(name)
		}
		if err != nil {
			return nil, err
		}
		removeEmpty(filepath.Join(m.Dirs[c.dir], filepath.FromSlash(c.path)), removed)
		opened = append(opened, c)
	}
	return opened, nil
}

// covers reports whether an entry of an upper directory hides a directory or file.
func (m *merge) covers(p place) bool {
	name := filepath.Join(m.upper(p.dir), filepath.FromSlash(p.path))
	info, err := os.Lstat(name)
	return err == nil && (info.IsDir() && isOpaque(name) || isWhiteout(name) && stateOf(m.Dirs[p.dir], p.path).Kind == folder)
}

// removeEmpty removes the empty directories that a merge has left of a removed directory.
func removeEmpty(top string, itself bool) {
	var dirs []string
	_ = filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && (itself || name != top) {
			dirs = append(dirs, name)
		}
		return nil //nolint:nilerr // it stays
	})
	for _, dir := range slices.Backward(dirs) {
		_ = os.Remove(dir) // unless it has a file
	}
}

// hiddenNow reports whether a parent directory still hides the file below.
func (m *merge) hiddenNow(i *item, opened []place) bool {
	c := i.changed
	return m.hidden(&c) && !slices.Contains(opened, place{i.dir, c.cover})
}

// forget removes a file from an upper directory, with the parents that it leaves empty, and its record.
func (m *merge) forget(i *item) error {
	name := filepath.Join(m.upper(i.dir), filepath.FromSlash(i.Path))
	if info, err := os.Lstat(name); err == nil && !info.IsDir() {
		if i.fork.info != nil && (info.Size() != i.fork.info.Size() || !info.ModTime().Equal(i.fork.info.ModTime())) {
			return nil // it was changed again: the next merge decides
		}
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for dir := path.Dir(i.Path); dir != "."; dir = path.Dir(dir) {
		if stateOf(m.Dirs[i.dir], dir).Kind != folder || os.Remove(filepath.Join(m.upper(i.dir), filepath.FromSlash(dir))) != nil {
			break
		}
	}
	if _, ok := m.bases.at[i.place]; !ok {
		return nil
	}
	return m.bases.add(line{Dir: i.dir, Path: i.Path, Gone: true})
}

// restate gives the fork the merged file, and makes it the base.
func (m *merge) restate(i *item) error {
	name := filepath.Join(m.upper(i.dir), filepath.FromSlash(i.Path))
	if i.want.Kind == regular && i.want.SHA256 != i.fork.SHA256 {
		data := i.data
		if data == nil {
			var err error
			if data, err = lockedfile.Read(filepath.Join(i.Dir, filepath.FromSlash(i.Path)), maxFile); err != nil || hashOf(data) != i.want.SHA256 {
				return err // the file was changed again: it stays as it is, a conflict at most
			}
		}
		if err := lockedfile.Replace(name, data); err != nil {
			return err
		}
	}
	if i.want.Kind == regular {
		if err := os.Chmod(name, i.want.Mode); err != nil {
			return err
		}
	}
	l := line{Dir: i.dir, Path: i.Path, state: i.want}
	if i.want.Kind == regular {
		if err := m.keep(&line{}, func() (*os.File, error) { return os.Open(name) }); err != nil {
			return err
		}
	}
	if _, ok := m.bases.at[i.place]; ok {
		if err := m.bases.add(line{Dir: i.dir, Path: i.Path, Gone: true}); err != nil {
			return err
		}
	}
	return m.bases.add(l)
}

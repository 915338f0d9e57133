package fork

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// maxFile is the size of a file up to which a merge reads it into memory.
const maxFile = 64 << 20

// stateOf describes a file below a directory. No link below the directory is followed: a path through
// one, or through a file, cannot be merged.
func stateOf(top, rel string) state {
	for at := 0; ; {
		next := strings.IndexByte(rel[at:], '/')
		if next < 0 {
			break
		}
		at += next
		info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(rel[:at])))
		if errors.Is(err, fs.ErrNotExist) {
			return state{}
		}
		if err != nil || !info.IsDir() {
			return state{hard: true}
		}
		at++
	}
	return stateAt(filepath.Join(top, filepath.FromSlash(rel)))
}

func stateAt(name string) state {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}
	}
	if err != nil {
		return state{hard: true}
	}
	s := state{Kind: kindOf(info.Mode()), info: info}
	switch s.Kind {
	case link:
		s.Target, err = os.Readlink(name)
	case regular:
		s.Mode = info.Mode().Perm()
		s.SHA256, s.Size, err = hashFile(name)
	}
	s.hard = err != nil
	return s
}

func hashFile(name string) (string, int64, error) {
	f, err := lockedfile.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", 0, lockedfile.ErrNotRegular
	}
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), n, err
}

// changed is a file that a fork may have changed.
type changed struct {
	place
	fork  state
	cover string // path of the removal or replaced directory that decides; "": the file itself
}

// changes returns the files that the fork may have changed: those in the upper directories, those that
// they hide, and those with a record.
func (f *Fork) changes(ctx context.Context) (map[place]*changed, error) {
	all := make(map[place]*changed)
	for n := range f.Dirs {
		if err := f.walk(ctx, n, all); err != nil {
			return nil, err
		}
	}
	for p, l := range f.bases.at {
		if inGit(p.path) || p.dir < 0 || p.dir >= len(f.Dirs) || all[p] != nil {
			continue
		}
		c := &changed{place: p}
		switch {
		case f.Mode == Copy: // the copy does not have it
		case !f.hidden(c): // it has the file below
			c.fork = l.state
			c.fork.hard = false
		}
		all[p] = c
	}
	return all, nil
}

// walk adds the files in an upper directory, and the files below that it hides.
func (f *Fork) walk(ctx context.Context, n int, all map[place]*changed) error {
	top := f.upper(n)
	return filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name != top {
			return nil // a command has removed it meanwhile
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(top, name)
		if err != nil || rel == "." {
			return err
		}
		p := place{n, filepath.ToSlash(rel)}
		if inGit(p.path) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case f.Mode == Overlay && isForged(name):
			all[p] = &changed{place: p, fork: state{Kind: special, hard: true}}
			if e.IsDir() {
				return fs.SkipDir
			}
		case e.IsDir():
			if l, ok := f.bases.at[p]; ok && l.Kind != absent && l.Kind != folder {
				all[p] = &changed{place: p, fork: state{Kind: folder}}
			}
			if f.Mode == Overlay && isOpaque(name) {
				return f.hides(ctx, p, all)
			}
		case f.Mode == Overlay && isWhiteout(name):
			if below := stateOf(f.Dirs[n], p.path); below.Kind != folder {
				all[p] = &changed{place: p, cover: p.path}
				return nil
			}
			if l, ok := f.bases.at[p]; ok && l.Kind != absent && l.Kind != folder {
				all[p] = &changed{place: p, cover: p.path} // a directory has replaced the file meanwhile
			}
			return f.hides(ctx, p, all)
		default:
			all[p] = &changed{place: p, fork: stateAt(name)}
		}
		return nil
	})
}

// hides adds the files below a directory that the upper one does not have.
func (f *Fork) hides(ctx context.Context, dir place, all map[place]*changed) error {
	top := filepath.Join(f.Dirs[dir.dir], filepath.FromSlash(dir.path))
	if stateOf(f.Dirs[dir.dir], dir.path).Kind != folder {
		return nil
	}
	return filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			return nil //nolint:nilerr // it was removed meanwhile, or stays
		}
		rel, err := filepath.Rel(f.Dirs[dir.dir], name)
		if err != nil || e.IsDir() {
			return err
		}
		p := place{dir.dir, filepath.ToSlash(rel)}
		if all[p] == nil && !inGit(p.path) {
			if _, err := os.Lstat(filepath.Join(f.upper(p.dir), rel)); errors.Is(err, fs.ErrNotExist) || err != nil {
				all[p] = &changed{place: p, cover: dir.path}
			}
		}
		return nil
	})
}

// hidden reports whether a parent directory is removed, replaced or a file in the fork.
func (f *Fork) hidden(c *changed) bool {
	for dir := path.Dir(c.path); dir != "."; dir = path.Dir(dir) {
		name := filepath.Join(f.upper(c.dir), filepath.FromSlash(dir))
		info, err := os.Lstat(name)
		if err != nil {
			continue
		}
		if !info.IsDir() || isOpaque(name) {
			c.cover = dir
			return true
		}
	}
	return false
}

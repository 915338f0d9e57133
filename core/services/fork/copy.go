package fork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// budget limits a copy.
type budget struct {
	files int
	bytes int64
}

func (b *budget) spend(bytes int64) error {
	b.files--
	b.bytes -= bytes
	if b.files < 0 || b.bytes < 0 {
		return fault.New(fault.LimitReached, "fork.create", "The directories have too many files or bytes for a fork that is a copy.",
			"Work in a smaller directory, or set fork.copy to false where overlays are possible.")
	}
	return nil
}

// copyDir copies a directory, and records each file as its base. Sockets, pipes, devices and files that
// cannot be read are omitted: without a record, a merge does not take them for removed.
func (f *Fork) copyDir(ctx context.Context, n int, limit *budget) error {
	top := f.Dirs[n]
	var modes []func() error // of directories, when their files are complete
	err := filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if isUnreadable(err) && name != top {
			return nil // it has a directory without files
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
		info, err := e.Info()
		if err != nil {
			return ignoreUnreadable(err)
		}
		to := filepath.Join(f.upper(n), rel)
		l := line{Dir: n, Path: filepath.ToSlash(rel), state: state{Kind: kindOf(info.Mode())}}
		if l.Kind == special {
			return nil
		}
		if err := limit.spend(max(0, info.Size())); err != nil {
			return err
		}
		switch l.Kind {
		case folder:
			modes = append(modes, func() error { return os.Chmod(to, info.Mode().Perm()|0o700) })
			return os.Mkdir(to, lockedfile.DirMode)
		case link:
			if l.Target, err = os.Readlink(name); err != nil {
				return ignoreUnreadable(err)
			}
			err = os.Symlink(l.Target, to)
		default:
			from, unreadable := lockedfile.Open(name)
			if unreadable != nil {
				return ignoreUnreadable(unreadable)
			}
			err = f.copyFile(&l, from, to, info)
			_ = from.Close() // it was only read
		}
		if err == nil && !inGit(l.Path) {
			err = f.bases.add(l)
		}
		if err == nil {
			err = f.store.at(StepCopied)
		}
		return err
	})
	for _, set := range modes {
		if err == nil {
			err = set()
		}
	}
	return err
}

// isUnreadable reports whether a file cannot be copied, or was removed meanwhile.
func isUnreadable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)
}

func ignoreUnreadable(err error) error {
	if isUnreadable(err) {
		return nil
	}
	return err
}

// copyFile copies a regular file. Its bytes are also kept as a base, because both copies can change.
func (f *Fork) copyFile(l *line, from *os.File, to string, info fs.FileInfo) error {
	if now, err := from.Stat(); err != nil || !now.Mode().IsRegular() {
		return fmt.Errorf("%s was replaced meanwhile", from.Name())
	}
	out, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, lockedfile.FileMode)
	if err != nil {
		return err
	}
	defer out.Close()
	if l.SHA256, l.Size, err = copyBytes(out, from); err != nil {
		return err
	}
	l.Mode = info.Mode().Perm()
	if !inGit(l.Path) && l.Size <= f.store.o.MaxBase {
		kept := line{}
		if err := f.keep(&kept, func() (*os.File, error) { return os.Open(to) }); err != nil {
			return err
		}
	}
	if err := out.Chmod(l.Mode); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

//go:build !linux && !darwin

package commit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

func pause(d time.Duration) { time.Sleep(d) }

// replacesOpenFiles: Windows does not rename over a file that is open.
const replacesOpenFiles = false

// kernel is the real system, by path names: dir's name must be its path.
type kernel struct{}

func in(dir *os.File, name string) string { return filepath.Join(dir.Name(), name) }

// openDir opens the directory by its name and verifies that it is the same one.
func (kernel) openDir(dir *os.File) (*os.File, error) {
	opened, err := os.Open(dir.Name())
	if err != nil {
		return nil, err
	}
	want, err := dir.Stat()
	if err == nil {
		var got fs.FileInfo
		if got, err = opened.Stat(); err == nil && !os.SameFile(want, got) {
			err = &fs.PathError{Op: "open", Path: dir.Name(), Err: errReplaced}
		}
	}
	if err != nil {
		closeFile(opened)
		return nil, err
	}
	return opened, nil
}

// errReplaced is returned if the name refers to a different directory by now.
var errReplaced = errors.New("directory was replaced by a different one")

func (kernel) pathOf(_ *os.File, fallback string) string { return fallback }

func (kernel) tryLock(*os.File) error { return errors.ErrUnsupported }

func (kernel) unlock(*os.File) {}

func (kernel) list(dir *os.File, n int) ([]string, error) { return dir.Readdirnames(n) }

func (kernel) look(dir *os.File, name string) (entry, error) {
	info, err := os.Lstat(in(dir, name))
	if err != nil {
		return entry{}, err
	}
	return entry{mode: info.Mode(), size: info.Size(), mtimeNS: info.ModTime().UnixNano()}, nil
}

func (k kernel) openRead(dir *os.File, name string) (*os.File, error) {
	return k.open(dir, name, os.O_RDONLY)
}

func (k kernel) openWrite(dir *os.File, name string) (*os.File, error) {
	return k.open(dir, name, os.O_RDWR)
}

func (k kernel) open(dir *os.File, name string, flags int) (*os.File, error) {
	if found, err := k.look(dir, name); err != nil {
		return nil, err
	} else if !found.mode.IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return os.OpenFile(in(dir, name), flags, 0)
}

func (k kernel) mayWrite(dir *os.File, name string) error {
	f, err := k.open(dir, name, os.O_WRONLY)
	if err != nil {
		return err
	}
	closeFile(f)
	return nil
}

func (kernel) mayReplace(*os.File, string) error { return nil }

func (kernel) createUnnamed(*os.File, fs.FileMode) (*os.File, error) {
	return nil, errors.ErrUnsupported
}

func (kernel) linkUnnamed(*os.File, *os.File, string) error { return errors.ErrUnsupported }

func (kernel) createNamed(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(in(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
}

func (kernel) writeAt(f *os.File, data []byte, offset int64) error {
	_, err := f.WriteAt(data, offset)
	return err
}

func (kernel) reserve(*os.File, int64) error { return nil }

func (kernel) truncate(f *os.File, size int64) error { return f.Truncate(size) }

// sync skips directories: not every system can flush them.
func (kernel) sync(f *os.File) error {
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil
	}
	return f.Sync()
}

func (kernel) copyAttributes(dst, src *os.File) error {
	info, err := src.Stat()
	if err != nil {
		return err
	}
	return dst.Chmod(info.Mode())
}

func (kernel) exchange(*os.File, string, string) error { return errors.ErrUnsupported }

// link is unsupported: a backup link would require closing files that the protocol keeps open.
func (kernel) link(*os.File, string, string) error { return errors.ErrUnsupported }

func (kernel) rename(dir *os.File, from, to string) error {
	return os.Rename(in(dir, from), in(dir, to))
}

func (kernel) renameNoReplace(dir *os.File, from, to string) error {
	if err := os.Link(in(dir, from), in(dir, to)); err != nil {
		if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return errors.ErrUnsupported
	}
	return os.Remove(in(dir, from))
}

func (kernel) remove(dir *os.File, name string) error { return os.Remove(in(dir, name)) }

func (kernel) lease(*os.File, bool) error { return errors.ErrUnsupported }

func (kernel) leaseHeld(*os.File) bool { return false }

func (kernel) endLease(*os.File) {}

// shields: Windows has no leases.
const shields = false

func (kernel) reopen(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }

func (kernel) makeWhiteout(*os.File, string) error { return errors.ErrUnsupported }

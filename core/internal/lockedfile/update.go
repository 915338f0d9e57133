package lockedfile

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// ErrLoop is returned for symbolic links that form a loop, or for more than [MaxLinks]
// in a row.
var ErrLoop = errors.New("its links lead in a circle")

// MaxLinks is the maximum number of symbolic links that are followed.
const MaxLinks = 40

// errMoved: another program has saved the file in the meantime.
var errMoved = errors.New("another program saved the file at the same moment")

// Update replaces the text of the file at path with the result of change, which receives
// nil if the file does not exist. The file, of at most limit bytes before and after, and
// its directory are created if they are missing. A link is followed. The file keeps its
// mode; a new one has [FileMode]. An unchanged text is not written.
//
// Concurrent updates in the same directory, also by other processes, wait for each other
// until ctx ends. A change by a program that does not use the lock is detected: change
// is called again with the new text. The new text is flushed and replaces the old one
// atomically. An error of change is returned as it is. After any error the file is
// unchanged and no temporary file is left.
func Update(ctx context.Context, path string, limit int64, change func(text []byte) ([]byte, error)) error {
	target, err := Follow(path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(target)
	if err := os.MkdirAll(dir, DirMode); err != nil {
		return err
	}
	unlock, err := lockDirectory(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	for range 10 {
		if err = updateOnce(ctx, target, limit, change); !errors.Is(err, errMoved) {
			return err
		}
	}
	return err
}

func updateOnce(ctx context.Context, target string, limit int64, change func(text []byte) ([]byte, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	old, err := Read(target, limit)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	text, err := change(old)
	switch {
	case err != nil:
		return err
	case bytes.Equal(text, old):
		return nil
	case int64(len(text)) > limit:
		return tooLarge(limit)
	}
	return replaceIf(target, limit, old, text, missing)
}

// Follow returns the absolute path of the target if path is a symbolic link, even if the
// target does not exist; otherwise the absolute path. Links above the last element are
// not resolved.
func Follow(path string) (string, error) {
	target, err := filepath.Abs(path)
	for range MaxLinks {
		if err != nil {
			return "", err
		}
		info, err := os.Lstat(target)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return target, nil
		}
		if err != nil {
			return "", err
		}
		link, err := os.Readlink(target)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(target), link)
		}
		target = link
	}
	return "", ErrLoop
}

// replaceIf replaces old, the previous content of target or nil for a missing file. It
// returns errMoved if the content has changed.
func replaceIf(target string, limit int64, old, text []byte, missing bool) (err error) {
	mode := FileMode
	if info, err := os.Stat(target); err == nil {
		mode = info.Mode().Perm()
	}
	temp := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"."+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, FileMode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // closed already, or an earlier error is returned
			_ = os.Remove(temp)
		}
	}()
	if _, err = f.Write(text); err != nil {
		return err
	}
	if err = f.Chmod(mode); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	now, err := Read(target, limit)
	switch {
	case missing && errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrTooLarge), err == nil && (missing || !bytes.Equal(now, old)):
		return errMoved
	case err != nil:
		return err
	}
	if err = os.Rename(temp, target); err != nil {
		return err
	}
	flush(filepath.Dir(target))
	return nil
}

// flush makes a new name durable if the platform can. After a failure the name exists,
// but may be lost in a power failure.
func flush(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = d.Sync()
	_ = d.Close()
}

package lockedfile

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLoop is returned where symbolic links lead in a circle, or are more than
// [MaxLinks] in a row.
var ErrLoop = errors.New("its links lead in a circle")

// MaxLinks is how many symbolic links are followed, one after the other.
const MaxLinks = 40

// errMoved says that another program has saved the file meanwhile.
var errMoved = errors.New("another program saved the file at the same moment")

// Update replaces the text of the file at path by what change makes of it; text is
// nil where there is no file. The file, of at most limit bytes before and after, and
// its directory are made where they are missing. A link is followed. The file keeps
// its mode; a new one has [FileMode]. A text that change does not alter is not
// written.
//
// Updates of this and other processes in the same directory wait for each other
// until ctx ends. What a program saves that does not wait is noticed: change is
// called again with its text. The new text is flushed, and put in place in one step.
// An error of change is returned as it is; then, as with each other error, the file
// is as it was and nothing is left beside it.
func Update(ctx context.Context, path string, limit int64, change func(text []byte) ([]byte, error)) error {
	target, err := Follow(path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(target)
	if err := os.MkdirAll(dir, FolderMode); err != nil {
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

// Follow returns the absolute path to which a path leads if it is a symbolic link,
// even one to nothing; else its own. Links above its last element stay.
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

// replaceIf puts text in the place of old, which target held, or of nothing. It
// returns errMoved if target holds something else by now.
func replaceIf(target string, limit int64, old, text []byte, missing bool) (err error) {
	mode := FileMode
	if info, err := os.Stat(target); err == nil {
		mode = info.Mode().Perm()
	}
	temp := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"."+rand.Text()+".tmp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, FileMode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // closed already, or what failed before is the news
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

// flush makes a new name durable where the platform can. If that fails, the name
// is there all the same, and a power cut may take it back.
func flush(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = d.Sync()
	_ = d.Close()
}

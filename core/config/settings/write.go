package settings

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Modes of what is made: settings may hold secrets.
const (
	fileMode   fs.FileMode = 0o600
	folderMode fs.FileMode = 0o700
)

var (
	errBusy   = errors.New("another process has the lock")
	errCircle = errors.New("its links lead in a circle")
	errMoved  = errors.New("another program saved the file at the same moment")
)

// maxLinks is how many links are followed, one after the other.
const maxLinks = 40

// update replaces the text of a file by what change makes of it. A link is
// followed; a missing file and its folder are made. Calls of this and other
// processes wait for each other until ctx ends, and what a program saves that
// does not wait is changed instead.
func update(ctx context.Context, path string, change func(text []byte) ([]byte, error)) error {
	target, err := follow(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), folderMode); err != nil {
		return err
	}
	unlock, err := lock(ctx, filepath.Dir(target))
	if err != nil {
		return err
	}
	defer unlock()
	for range 10 {
		var old, text []byte
		old, err = read(ctx, target)
		missing := errors.Is(err, fs.ErrNotExist)
		if err != nil && !missing {
			return err
		}
		if text, err = change(old); err != nil {
			return err
		}
		if !missing && bytes.Equal(text, old) {
			return nil
		}
		if len(text) > MaxBytes {
			return errTooLarge
		}
		if err = replace(ctx, target, old, text, missing); !errors.Is(err, errMoved) {
			return err
		}
	}
	return err
}

// follow returns where a path leads if it is a symbolic link, even one to
// nothing.
func follow(path string) (string, error) {
	target, err := filepath.Abs(path)
	for range maxLinks {
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
	return "", errCircle
}

// lock takes the lock of a folder, which updates of all processes share. It
// waits until ctx ends.
func lock(ctx context.Context, folder string) (unlock func(), err error) {
	const longest = 16 * time.Millisecond
	for pause := time.Millisecond; ; pause = min(2*pause, longest) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		unlock, err := tryLock(folder)
		if !errors.Is(err, errBusy) {
			return unlock, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// replace puts text in the place of old, which target held, or of nothing, in
// one step and flushed. It returns errMoved if target holds something else by
// now, and leaves nothing behind if it fails.
func replace(ctx context.Context, target string, old, text []byte, missing bool) (err error) {
	mode := fileMode
	if info, err := os.Stat(target); err == nil {
		mode = info.Mode().Perm()
	}
	temp := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"."+rand.Text()+".tmp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
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
	now, err := read(ctx, target)
	switch {
	case missing && errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, fs.ErrNotExist), err == nil && (missing || !bytes.Equal(now, old)):
		return errMoved
	case err != nil:
		return err
	}
	return os.Rename(temp, target)
}

package rulefile

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// replace puts data in the place of old, which target held, or of nothing. It
// leaves nothing behind if it fails. It returns errMoved if target holds
// something else by now.
func replace(target string, old, data []byte, missing bool) (err error) {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(target); err == nil {
		mode = info.Mode().Perm()
	}
	temp := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"."+rand.Text()+".tmp")
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close() // closed already, or what failed before is the news
			_ = os.Remove(temp)
		}
	}()
	if _, err = file.Write(data); err != nil {
		return err
	}
	if err = file.Chmod(mode); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err = file.Sync(); err != nil {
		return err
	}
	if err = unmoved(target, old, missing); err != nil {
		return err
	}
	if err = file.Close(); err != nil {
		return err
	}
	if err = os.Rename(temp, target); err != nil {
		return err
	}
	flushFolder(filepath.Dir(target))
	return nil
}

func unmoved(target string, old []byte, missing bool) error {
	now, err := os.ReadFile(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if missing {
			return nil
		}
		return errMoved
	case err != nil:
		return err
	case missing || !bytes.Equal(now, old):
		return errMoved
	}
	return nil
}

// flushFolder makes a new name durable where the platform can. If it does not
// come off, the name is there all the same and a power cut may take it back.
func flushFolder(path string) {
	dir, err := os.Open(path)
	if err != nil {
		return
	}
	_ = dir.Sync()
	_ = dir.Close()
}

// keep copies a file that cannot be read beside itself, and returns the
// copy's path. Copies that are there already stay.
func keep(target string, data []byte) (backup string, err error) {
	const most = 100
	for i := range most {
		backup = target + ".bak"
		if i > 0 {
			backup = fmt.Sprintf("%s.bak.%d", target, i)
		}
		if have, err := os.ReadFile(backup); err == nil && bytes.Equal(have, data) {
			return backup, nil
		}
		file, err := os.OpenFile(backup, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(data)
		err = errors.Join(err, file.Sync(), file.Close())
		if err != nil {
			_ = os.Remove(backup)
			return "", err
		}
		return backup, nil
	}
	return "", fmt.Errorf("there are %d copies of broken files beside it", most)
}

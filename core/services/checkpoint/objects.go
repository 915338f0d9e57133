package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func isHash(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

func (s *Store) objectPath(sum string) string {
	return filepath.Join(s.o.Dir, objectsDirectory, sum[:2], sum[2:])
}

// put stores bytes by their hash, which it returns. Existing objects are not written again. With
// durable they are on disk when put returns; otherwise the caller flushes them. A killed process
// leaves no incomplete object under an object's name.
func (s *Store) put(data []byte, durable bool) (sum string, err error) {
	sum = sumOf(data)
	path := s.objectPath(sum)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(data)) {
		return sum, nil
	}
	if err := s.at(StepObject); err != nil {
		return "", err
	}
	f, err := createTemp(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil && durable {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // otherwise the next clean-up does
		return "", err
	}
	return sum, nil
}

// Put stores bytes that belong to no session, and reports whether they were not stored before. The
// next clean-up may remove them; a crash of the machine may lose them.
func (s *Store) Put(data []byte) (added bool, err error) {
	if s.has(sumOf(data)) {
		return false, nil
	}
	_, err = s.put(data, false)
	return err == nil, err
}

// Content returns the stored bytes with a SHA-256, verified. The error is of code
// checkpoint_failed.
func (s *Store) Content(sum string) ([]byte, error) { return s.get(sum) }

// tempPattern is the pattern of the names of temporary files.
const tempPattern = ".part-"

// createTemp creates a private file in a directory of the store, and creates the directory if it is
// missing.
func createTemp(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, tempPattern+"*")
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, dirMode); err != nil {
			return nil, err
		}
		f, err = os.CreateTemp(dir, tempPattern+"*")
	}
	return f, err
}

// get returns the bytes with a hash, verified. The error is of code checkpoint_failed.
func (s *Store) get(sum string) ([]byte, error) {
	if !isHash(sum) {
		return nil, fault.New(fault.CheckpointFailed, "checkpoint.read", fmt.Sprintf("%.80q is not a valid hash.", sum), "")
	}
	data, err := os.ReadFile(s.objectPath(sum))
	if err != nil {
		return nil, fault.Wrap(fault.CheckpointFailed, "checkpoint.read",
			fmt.Sprintf("The stored content %s cannot be read: %s.", sum[:12], cause(err)), "It cannot be restored.", err)
	}
	if sumOf(data) != sum {
		return nil, fault.New(fault.CheckpointFailed, "checkpoint.read",
			fmt.Sprintf("The stored content %s is damaged.", sum[:12]), "It cannot be restored.")
	}
	return data, nil
}

// has reports whether there is an object with that hash, without reading it.
func (s *Store) has(sum string) bool {
	info, err := os.Lstat(s.objectPath(sum))
	return err == nil && info.Mode().IsRegular()
}

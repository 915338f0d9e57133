package trust

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// maxBytes is the limit of the file.
const maxBytes = 1 << 20

// empty is the content of a missing file.
const empty = "{}\n"

// read returns the text of the file.
func (s *Store) read() ([]byte, error) {
	info, err := os.Stat(s.path) // before opening: opening a pipe would block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []byte(empty), nil
	case err != nil:
		return nil, s.readError(err)
	case !info.Mode().IsRegular():
		return nil, s.readError(errors.New("it is not a regular file"))
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, s.readError(err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, s.readError(err)
	}
	if len(data) > maxBytes {
		return nil, malformed(s.path, &position.Error{Message: fmt.Sprintf("it is larger than %d bytes", maxBytes)})
	}
	return data, nil
}

// missing reports whether the file does not exist.
func (s *Store) missing() bool {
	_, err := os.Stat(s.path)
	return errors.Is(err, fs.ErrNotExist)
}

// update replaces the text of the file with the result of change, under the lock of the file.
func (s *Store) update(ctx context.Context, change func([]byte) ([]byte, error)) error {
	path, err := s.target()
	if err != nil {
		return s.writeError(err)
	}
	unlock, err := lockedfile.LockOf(ctx, path)
	if err != nil {
		if ctx.Err() != nil {
			return cancelled(ctx)
		}
		return s.writeError(err)
	}
	defer unlock()
	old, err := s.read()
	if err != nil {
		return err
	}
	text, err := change(old)
	if err != nil {
		return err
	}
	if len(text) > maxBytes {
		return s.writeError(fmt.Errorf("it would be larger than %d bytes", maxBytes))
	}
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	if err := lockedfile.Replace(path, text); err != nil {
		return s.writeError(err)
	}
	return nil
}

// target returns the path of the file, with links resolved.
func (s *Store) target() (string, error) {
	path, err := filepath.Abs(s.path)
	if err != nil {
		return "", err
	}
	return workspace.RealPath(path)
}

func (s *Store) readError(err error) error {
	return fault.Wrap(fault.InvalidConfig, "trust.read", fmt.Sprintf("The file of trusted directories %s cannot be read: %s.", s.path, cause(err)),
		"Make it readable, or move it away.", err)
}

func (s *Store) writeError(err error) error {
	return fault.Wrap(fault.FileWriteFailure, "trust.write", fmt.Sprintf("Nothing was recorded: the file of trusted directories %s cannot be written: %s.", s.path, cause(err)),
		"Make sure that you have write permission for its directory and that the disk has free space.", err)
}

// cause returns the text of an error without the path, which the message names.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

func cancelled(ctx context.Context) error {
	return fault.Wrap(fault.Cancelled, "trust", "The file of trusted directories is unchanged, because the call was cancelled.", "", ctx.Err())
}

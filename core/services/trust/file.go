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

// maxBytes caps the file: beyond it, it is not ours.
const maxBytes = 1 << 20

// empty is what a missing file stands for.
const empty = "{}\n"

// read returns the text of the file.
func (s *Store) read() ([]byte, error) {
	info, err := os.Stat(s.path) // before it is opened: a pipe would keep us waiting
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []byte(empty), nil
	case err != nil:
		return nil, s.unreadable(err)
	case !info.Mode().IsRegular():
		return nil, s.unreadable(errors.New("it is not a regular file"))
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, s.unreadable(err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, s.unreadable(err)
	}
	if len(data) > maxBytes {
		return nil, malformed(s.path, &position.Error{Message: fmt.Sprintf("it is larger than %d bytes", maxBytes)})
	}
	return data, nil
}

// missing reports whether there is no file.
func (s *Store) missing() bool {
	_, err := os.Stat(s.path)
	return errors.Is(err, fs.ErrNotExist)
}

// update replaces the text of the file by what change makes of it, while no
// other process does.
func (s *Store) update(ctx context.Context, change func([]byte) ([]byte, error)) error {
	path, err := s.target()
	if err != nil {
		return s.unwritten(err)
	}
	unlock, err := lockedfile.LockOf(ctx, path)
	if err != nil {
		if ctx.Err() != nil {
			return cancelled(ctx)
		}
		return s.unwritten(err)
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
		return s.unwritten(fmt.Errorf("it would be larger than %d bytes", maxBytes))
	}
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	if err := lockedfile.Replace(path, text); err != nil {
		return s.unwritten(err)
	}
	return nil
}

// target returns the path of the file itself, if a link leads to it.
func (s *Store) target() (string, error) {
	path, err := filepath.Abs(s.path)
	if err != nil {
		return "", err
	}
	return workspace.RealPath(path)
}

func (s *Store) unreadable(err error) error {
	return fault.Wrap(fault.InvalidConfig, "trust.read", fmt.Sprintf("The file of trusted directories %s cannot be read: %s.", s.path, cause(err)),
		"Make it readable, or move it away.", err)
}

func (s *Store) unwritten(err error) error {
	return fault.Wrap(fault.FileWriteFailure, "trust.write", fmt.Sprintf("Nothing was recorded: the file of trusted directories %s cannot be written: %s.", s.path, cause(err)),
		"Make sure that you may write to its directory and that the disk has room.", err)
}

// cause returns an error's text without the path, which the sentence names.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

func cancelled(ctx context.Context) error {
	return fault.Wrap(fault.Cancelled, "trust", "The file of trusted directories was left as it is, as the call was cancelled.", "", ctx.Err())
}

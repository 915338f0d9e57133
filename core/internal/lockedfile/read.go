package lockedfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Errors of reading a file. ErrTooLarge is the class of an error that names the limit.
var (
	ErrNotRegular = errors.New("it is not a regular file")
	ErrTooLarge   = errors.New("it is too large")
)

// tooLarge is the exceeded limit, in bytes.
type tooLarge int64

func (e tooLarge) Error() string { return fmt.Sprintf("it has more than %d bytes", int64(e)) }

func (e tooLarge) Is(target error) bool { return target == ErrTooLarge }

// Open opens a file for reading. It does not block on a pipe without a writer. While
// another program has a lease that excludes readers, as a commit has for some
// microseconds, it tries again for up to 100 ms. The caller closes the file.
func Open(path string) (*os.File, error) {
	const longest, pause = 100 * time.Millisecond, time.Millisecond
	for start := time.Now(); ; time.Sleep(pause) {
		file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.EAGAIN) || time.Since(start) >= longest {
			return file, err
		}
	}
}

// Read returns the bytes of a regular file of at most limit bytes, which it opens
// as [Open] does. The error is of the file system, [ErrNotRegular] or of the class
// [ErrTooLarge].
func Read(path string, limit int64) ([]byte, error) { return ReadIf(path, limit, nil) }

// ReadIf is [Read] of a file that accept, called with the open file's state, returns
// no error for; nil accepts any. An error of accept is returned as it is.
func ReadIf(path string, limit int64, accept func(fs.FileInfo) error) ([]byte, error) {
	data, err := head(path, limit+1, accept)
	if err == nil && int64(len(data)) > limit {
		return nil, tooLarge(limit)
	}
	return data, err
}

// Head returns the first bytes of a regular file, at most limit, which it opens as
// [Open] does. The error is of the file system or [ErrNotRegular].
func Head(path string, limit int64) ([]byte, error) { return head(path, limit, nil) }

func head(path string, limit int64, accept func(fs.FileInfo) error) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	if accept != nil {
		if err := accept(info); err != nil {
			return nil, err
		}
	}
	data, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return nil, err
	}
	return data, nil
}

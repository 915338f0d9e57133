package rulefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

const extension = ".toml"

// Load reads policy files, and of folders the files NAME.toml that lie
// directly in them, by name. What does not exist is left out; what cannot be
// read, or is no regular file once links are followed, is a problem and a File
// with no more than stand-ins, and the others are read all the same. If ctx
// ends, so is the rest.
func Load(ctx context.Context, paths []string, o Options) ([]File, []Problem) {
	var files []File
	var problems []Problem
	lost := func(path string, err error) {
		r := newReader(path, o)
		problems = append(problems, unreadable(path, err, r.insteadOfFile()))
		files = append(files, r.file)
	}
	for _, path := range paths {
		names, err := expand(path)
		if err != nil {
			lost(path, err)
			continue
		}
		for _, name := range names {
			data, err := read(ctx, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				lost(name, err)
				continue
			}
			file, more := Parse(name, data, o)
			files = append(files, file)
			problems = append(problems, more...)
		}
	}
	return files, problems
}

// expand returns a file's path as it is, and a folder's files.
func expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path) // by name
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == extension && !e.IsDir() {
			names = append(names, filepath.Join(path, e.Name()))
		}
	}
	return slices.Clip(names), nil
}

// read returns the bytes of a regular file, and one more than MaxBytes of a
// larger one. It does not wait for the other end of a pipe.
func read(ctx context.Context, path string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file, err := openUnleased(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return io.ReadAll(io.LimitReader(file, MaxBytes+1))
}

// openUnleased opens a file for reading. It does not wait for the other end of a
// pipe. While another program holds a lease that excludes readers, as a commit
// does for some microseconds, it tries again for up to 100 ms.
func openUnleased(path string) (*os.File, error) {
	const longest, pause = 100 * time.Millisecond, time.Millisecond
	for start := time.Now(); ; time.Sleep(pause) {
		file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.EAGAIN) || time.Since(start) >= longest {
			return file, err
		}
	}
}

var errNotRegular = errors.New("it is no regular file")

// unreadable is the problem of a file or folder. made is a clause that says
// what is done instead.
func unreadable(path string, err error, made string) Problem {
	cause := err
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		cause = e.Err
	}
	return Problem{
		Path: path, Kind: KindFileRead, Severity: Error,
		Message: fmt.Sprintf("It cannot be read (%s): nothing of it is in force%s.", cause, made),
		Remedy:  "Make it one that you may read, or remove it.",
	}
}

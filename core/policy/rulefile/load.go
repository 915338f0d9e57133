package rulefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

const extension = ".toml"

// Load reads policy files, and of directories the files NAME.toml that lie
// directly in them, by name. What does not exist is left out; what cannot be
// read, or is no regular file once links are followed, is a problem and a File
// with no more than stand-ins, and the others are read all the same. If ctx
// ends, so is the rest.
func Load(ctx context.Context, paths []string, o Options) ([]File, []fault.Problem) {
	var files []File
	var problems []fault.Problem
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

// expand returns a file's path as it is, and a directory's files.
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

// read returns the bytes of a regular file of at most [MaxBytes].
func read(ctx context.Context, path string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return lockedfile.Read(path, MaxBytes)
}

// unreadable is the problem of a file or directory. made is a clause that says
// what is done instead.
func unreadable(path string, err error, made string) fault.Problem {
	cause := err
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		cause = e.Err
	}
	remedy := "Make it one that you may read, or remove it."
	if errors.Is(err, lockedfile.ErrTooLarge) {
		remedy = "Split it into several files."
	}
	return fault.Problem{
		Path: path, Kind: KindFileRead, Severity: Error,
		Message: fmt.Sprintf("It cannot be read (%s): nothing of it is in force%s.", cause, made),
		Remedy:  remedy,
	}
}

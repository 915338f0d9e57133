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

// Load reads policy files; for a directory it reads the files NAME.toml directly in it,
// sorted by name. Missing paths are skipped. An unreadable file, or one that is not
// regular once links are followed, is a problem and a File with stand-ins only; the
// other files are read. Load stops when ctx ends.
func Load(ctx context.Context, paths []string, o Options) ([]File, []fault.Problem) {
	var files []File
	var problems []fault.Problem
	fail := func(path string, err error) {
		r := newReader(path, o)
		problems = append(problems, unreadable(path, err, r.fileStandIn()))
		files = append(files, r.file)
	}
	for _, path := range paths {
		names, err := expand(path)
		if err != nil {
			fail(path, err)
			continue
		}
		for _, name := range names {
			data, err := read(ctx, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				fail(name, err)
				continue
			}
			file, more := Parse(name, data, o)
			files = append(files, file)
			problems = append(problems, more...)
		}
	}
	return files, problems
}

// expand returns the path of a file, or the files of a directory.
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
	entries, err := os.ReadDir(path) // sorted by name
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

// unreadable returns the problem for a file or directory. substitute is a clause that
// describes the substitute.
func unreadable(path string, err error, substitute string) fault.Problem {
	cause := err
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		cause = e.Err
	}
	remedy := "Make it readable, or remove it."
	if errors.Is(err, lockedfile.ErrTooLarge) {
		remedy = "Split it into several files."
	}
	return fault.Problem{
		Path: path, Kind: KindFileRead, Severity: Error,
		Message: fmt.Sprintf("It cannot be read (%s): none of its rules is in force%s.", cause, substitute),
		Remedy:  remedy,
	}
}

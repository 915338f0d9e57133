package extensionstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Validation is the result of Validate: the parts of an extension, and its problems.
type Validation struct {
	Name     string          `json:"name"` // "" if the manifest has none
	Version  string          `json:"version"`
	Valid    bool            `json:"valid"` // there is no error among the findings
	Brings   Parts           `json:"brings"`
	Findings []fault.Problem `json:"findings"`
}

// Check validates the parts of an extension that their owners parse. Paths in its
// findings are absolute.
type Check func(ctx context.Context, e extensions.Extension) ([]fault.Problem, error)

// Validate checks the extension in a directory, which need not be installed, without
// changing it: the manifest, links that lead out, special files, and the parts that
// checks validate. It reports all problems. The error is of code file_not_found,
// path_is_not_a_directory, read_content_failure or cancelled.
func (s *Store) Validate(ctx context.Context, dir string, checks ...Check) (Validation, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Validation{}, unreadable(dir, err)
	}
	if err := checkDir(dir); err != nil {
		return Validation{}, err
	}
	v := Validation{Findings: []fault.Problem{}}
	e, problems := Open(Options{ContextFiles: s.o.ContextFiles, literal: true}).read(dir, nil)
	for _, p := range problems {
		v.Findings = append(v.Findings, fault.Problem{Severity: fault.SeverityOf(p.IsError()), Path: p.Path, Line: p.Line, Message: p.Message, Remedy: p.Remedy})
	}
	v.Name, v.Version = e.Name, e.Version
	if slices.ContainsFunc(problems, func(p fault.Problem) bool { return p.IsError() }) {
		s.completed(&e)
	}
	found, err := examine(ctx, dir, usualLimits)
	if err != nil {
		return Validation{}, err
	}
	v.Findings = append(v.Findings, found...)
	if v.Brings, err = s.PartsOf(ctx, e); err != nil {
		return Validation{}, err
	}
	for _, name := range missingContext(e) {
		v.Findings = append(v.Findings, fault.Problem{Severity: fault.SeverityWarning, Path: e.Manifest, Message: fmt.Sprintf("The context file %q does not exist.", clip(name)), Remedy: "Add it, or remove it from contextFileName."})
	}
	for _, check := range checks {
		found, err := check(ctx, e)
		if err != nil {
			return Validation{}, err
		}
		v.Findings = append(v.Findings, found...)
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		f.Path = filepath.ToSlash(relativeTo(dir, f.Path))
		if f.Path == "." {
			f.Path = ""
		}
		f.Message = strings.ReplaceAll(f.Message, dir, "${extensionPath}")
	}
	slices.SortStableFunc(v.Findings, func(a, b fault.Problem) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line)) })
	v.Findings = slices.Compact(v.Findings)
	v.Valid = !slices.ContainsFunc(v.Findings, func(f fault.Problem) bool { return f.Severity == fault.SeverityError })
	return v, nil
}

// completed adds the readable parts to an extension with an invalid manifest.
func (s *Store) completed(e *extensions.Extension) {
	c, err := contain(e.Path)
	if err != nil {
		return
	}
	var m manifest
	if data, err := lockedfile.Read(e.Manifest, maxManifest); err == nil {
		m, _ = parseManifest(data, e.Path, variables{extensionPath: e.Path}) // its problems are reported already
	}
	e.MCPServers, e.ExcludedTools, e.Settings, e.PlanDir = m.MCPServers, m.ExcludeTools, m.Settings, m.PlanDirectory
	bringing{l: &loading{s: s}, e: e, c: c}.find(m, s.o.ContextFiles)
}

// missingContext returns the context files that the manifest names and that do not
// exist.
func missingContext(e extensions.Extension) []string {
	data, err := lockedfile.Read(e.Manifest, maxManifest)
	if err != nil {
		return nil
	}
	m, _ := parseManifest(data, e.Path, variables{extensionPath: e.Path}) // its problems are reported already
	return slices.DeleteFunc(m.ContextFileNames, func(name string) bool {
		_, err := os.Lstat(filepath.Join(e.Path, name))
		return err == nil
	})
}

// examine reports everything that copyTree refuses.
func examine(ctx context.Context, dir string, limits copyLimits) ([]fault.Problem, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	defer func() { _ = root.Close() }() // it was only read
	var found []fault.Problem
	refuse := func(name, format string, args ...any) {
		found = append(found, fault.Problem{Severity: fault.SeverityError, Path: filepath.Join(dir, name), Message: fmt.Sprintf(format, args...), Remedy: "Remove it; an extension with it cannot be installed."})
	}
	entries, bytes := 0, int64(0)
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			refuse(name, "It cannot be read: %s.", cause(err))
			return nil
		case entry.IsDir() && leftOut(entry.Name()):
			return fs.SkipDir
		case strings.Count(name, "/") >= limits.depth:
			refuse(name, "It is nested deeper than %d directories.", limits.depth)
			return fs.SkipDir
		}
		if entries++; entries > limits.entries {
			return fs.SkipAll
		}
		switch mode := entry.Type(); {
		case mode&fs.ModeSymlink != 0:
			leads, err := root.Readlink(filepath.FromSlash(name))
			if err == nil {
				_, err = root.Stat(filepath.FromSlash(name))
			}
			switch {
			case filepath.IsAbs(leads):
				refuse(name, "It is a link to %q, which is absolute.", leads)
			case errors.Is(err, fs.ErrNotExist):
				refuse(name, "It is a link to %q, which does not exist.", leads)
			case err != nil:
				refuse(name, "It is a link to %q, which is outside of the extension.", leads)
			}
		case mode.IsRegular():
			if info, err := entry.Info(); err == nil {
				bytes += info.Size()
			}
		case !mode.IsDir():
			refuse(name, "It is %s.", kindOf(mode))
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return nil, cancelled(ctx.Err())
	case err != nil:
		return nil, unreadable(dir, err)
	}
	if entries > limits.entries {
		refuse("", "The extension has more than %d files and directories.", limits.entries)
	}
	if bytes > limits.bytes {
		refuse("", "The extension has more than %d MiB.", limits.bytes>>20)
	}
	return found, nil
}

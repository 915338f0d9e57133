// Package discovery finds files: it walks a workspace, matches globs and
// leaves out what ignore rules cover.
package discovery

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Finder finds files below the folders of a workspace. It never enters .git
// and honours the .gitignore at the root of each workspace folder, read once
// at first use. It is safe for concurrent use.
type Finder struct {
	files *workspace.Workspace

	mu    sync.Mutex
	rules map[string]*ignoreRules // by workspace folder
}

// New returns a Finder. It does no I/O.
func New(files *workspace.Workspace) *Finder {
	return &Finder{files: files, rules: make(map[string]*ignoreRules)}
}

// Glob returns the files that match pattern, sorted by path, at most limit of
// them; more reports that others were left out. The pattern is relative to
// the target folder, or absolute inside the workspace; ** crosses folders.
// Symbolic links to folders are not followed. Ignored files are left out. A
// folder that cannot be listed is passed over.
//
// Errors have code invalid_tool_params, path_not_in_workspace or cancelled.
func (f *Finder) Glob(ctx context.Context, pattern string, limit int) (found []workspace.Path, more bool, err error) {
	pattern = filepath.ToSlash(pattern)
	if !doublestar.ValidatePattern(pattern) {
		return nil, false, fault.New(fault.InvalidToolParams, "discovery.glob", "The pattern "+pattern+" is malformed.",
			"Close its brackets and braces; * ? [] {} and ** are special.")
	}
	base, rest := doublestar.SplitPattern(pattern)
	start, err := f.files.Resolve(base)
	if err != nil {
		return nil, false, err
	}
	if err := f.walk(ctx, start, rest, depthOf(rest), &found); err != nil {
		return nil, false, err
	}
	slices.SortFunc(found, func(a, b workspace.Path) int { return strings.Compare(a.String(), b.String()) })
	if len(found) > limit {
		return found[:max(limit, 0)], true, nil
	}
	return found, false, nil
}

// depthOf returns how many folders down a pattern can match, -1 for any
// number: ** crosses folders, and braces may hide a slash.
func depthOf(pattern string) int {
	if strings.Contains(pattern, "**") || strings.Contains(pattern, "{") {
		return -1
	}
	return strings.Count(pattern, "/")
}

// walk adds the files below dir whose path relative to it matches pattern,
// going depth folders down, or all the way if depth is negative.
func (f *Finder) walk(ctx context.Context, dir workspace.Path, pattern string, depth int, found *[]workspace.Path) error {
	type folder struct {
		path  workspace.Path
		rel   string
		depth int
	}
	stack := []folder{{dir, "", depth}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		entries, err := f.files.ReadDir(ctx, at.path)
		if fault.CodeOf(err) == fault.Cancelled {
			return err
		}
		for _, e := range entries {
			child, err := f.files.Resolve(filepath.Join(at.path.String(), e.Name))
			if err != nil || e.Err != nil {
				continue
			}
			isDir := e.Info.Mode.IsDir() && !e.Link
			if f.Ignored(child, isDir) {
				continue
			}
			rel := path.Join(at.rel, e.Name)
			switch {
			case isDir && at.depth != 0:
				stack = append(stack, folder{child, rel, at.depth - 1})
			case e.Info.Mode.IsRegular():
				if ok, _ := doublestar.Match(pattern, rel); ok {
					*found = append(*found, child)
				}
			}
		}
	}
	return nil
}

// Ignored reports whether p, a folder if dir, is a .git or covered by the
// .gitignore at the root of its workspace folder, itself or by a folder above
// it.
func (f *Finder) Ignored(p workspace.Path, dir bool) bool {
	rules := f.rulesOf(p.Folder())
	rel := p.Rel()
	for i := 0; i <= len(rel); i++ {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		part := rel[:i]
		if path.Base(part) == ".git" || rules.match(part, dir || i < len(rel)) {
			return true
		}
	}
	return false
}

func (f *Finder) rulesOf(folder string) *ignoreRules {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r, ok := f.rules[folder]; ok {
		return r
	}
	r := loadIgnoreRules(f.files, folder)
	f.rules[folder] = r
	return r
}

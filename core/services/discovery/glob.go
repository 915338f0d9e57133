package discovery

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Find configures [Finder.Find].
type Find struct {
	// Pattern is a glob: * ? [] {} and ** for any number of directories. Relative
	// to Dir, or absolute inside the workspace. Required.
	Pattern string
	// Dir is the directory of a relative pattern. Zero: the target directory.
	Dir workspace.Path
	// FoldCase ignores the case of letters, except in directories at the beginning of the pattern
	// that exist as written.
	FoldCase bool
	// Limit is the maximum number of files. Zero or less: none.
	Limit int
	// RecentNS is a time in nanoseconds since 1970: files changed after it come first, newest
	// first. 0: all are sorted by path.
	RecentNS int64
}

// Found is the result of a [Find].
type Found struct {
	Files []workspace.Path
	More  int // number of matching files beyond the limit
	Tally Tally
}

// Find returns the files that match a pattern, and links to files in the workspace. Ignored files
// are left out. The directories at the beginning of the pattern, and Dir, are named by the caller
// and so not ignored; nor is a file whose name is the pattern. Links to directories are followed
// only in that prefix. A directory that cannot be listed is skipped and counted; if the pattern
// names a missing one, the result is empty.
//
// Errors have code invalid_tool_params, path_not_in_workspace, permission_denied, not_initialized
// or cancelled.
func (f *Finder) Find(ctx context.Context, r Find) (Found, error) {
	pattern := filepath.ToSlash(r.Pattern)
	if err := CheckGlob(pattern); err != nil {
		return Found{}, err
	}
	start, rest, err := f.split(r, pattern)
	if err != nil {
		return Found{}, err
	}
	if err := ctx.Err(); err != nil {
		return Found{}, cancelled(err)
	}
	if named, ok := f.named(start, rest); ok {
		return Found{Files: []workspace.Path{named}}.cut(r.Limit), nil
	}
	g := newGlob(rest, r.FoldCase)
	type match struct {
		rel   string
		mtime int64
	}
	var matches []match
	tally, err := f.Walk(ctx, Walk{Start: start, Depth: -1, Keep: g.match, Enter: g.mayHold, Links: true, Times: r.RecentNS != 0},
		func(file File) bool {
			m := match{rel: file.Rel()}
			if file.MtimeNS > r.RecentNS && r.RecentNS != 0 {
				m.mtime = file.MtimeNS
			}
			matches = append(matches, m)
			return true
		})
	if c := fault.CodeOf(err); c == fault.FileNotFound || c == fault.PathIsNotADirectory {
		return Found{}, nil
	}
	if err != nil {
		return Found{}, err
	}
	slices.SortStableFunc(matches, func(a, b match) int { // the paths are sorted already
		switch {
		case a.mtime > b.mtime:
			return -1
		case a.mtime < b.mtime:
			return 1
		}
		return 0
	})
	found := Found{Tally: tally}
	for _, m := range matches[:min(len(matches), max(r.Limit, 0))] {
		p, err := f.files.Resolve(filepath.Join(start.String(), filepath.FromSlash(m.rel)))
		if err != nil {
			return Found{}, err
		}
		found.Files = append(found.Files, p)
	}
	found.More = len(matches) - len(found.Files)
	return found, nil
}

func (f Found) cut(limit int) Found {
	kept := min(len(f.Files), max(limit, 0))
	f.More += len(f.Files) - kept
	f.Files = f.Files[:kept]
	return f
}

// split returns the directory to begin at, and the remaining pattern.
func (f *Finder) split(r Find, pattern string) (start workspace.Path, rest string, err error) {
	dir := r.Dir.String()
	if r.Dir == (workspace.Path{}) {
		dir = f.files.Target()
	}
	base, rest := doublestar.SplitPattern(pattern)
	at := filepath.FromSlash(base)
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	start, err = f.files.Resolve(at)
	if err != nil || !r.FoldCase || base == "." || filepath.IsAbs(filepath.FromSlash(base)) {
		return start, rest, err
	}
	if info, err := f.files.Stat(start); err == nil && info.Mode.IsDir() {
		return start, rest, nil
	}
	if strings.Contains("/"+base+"/", "/../") {
		return start, rest, nil
	}
	start, err = f.files.Resolve(dir)
	return start, strings.TrimPrefix(pattern, "./"), err
}

// named returns the file in start whose name is the pattern.
func (f *Finder) named(start workspace.Path, name string) (workspace.Path, bool) {
	if name == "" {
		return workspace.Path{}, false
	}
	p, err := f.files.Resolve(filepath.Join(start.String(), filepath.FromSlash(name)))
	if err != nil {
		return workspace.Path{}, false
	}
	if _, below := relativeTo(start.Rel(), p.Rel()); !below && start.Rel() != "." {
		return workspace.Path{}, false
	}
	info, err := f.files.Stat(p)
	return p, err == nil && info.Mode.IsRegular()
}

const (
	// maxGlob limits the bytes of a glob.
	maxGlob = 4 << 10
	// maxAlternatives limits the expansion of its braces, because each alternative may have to be
	// tried for each name.
	maxAlternatives = 1_000
)

// CheckGlob returns an error of code invalid_tool_params if pattern is not a valid glob, is longer
// than 4 KiB, or its braces expand to more than a thousand patterns.
func CheckGlob(pattern string) error {
	const op = "discovery.glob"
	switch {
	case pattern == "" || !doublestar.ValidatePattern(pattern):
		return fault.New(fault.InvalidToolParams, op, "The pattern "+escape.ClipBytes(pattern, maxShown)+" is malformed.",
			"Close its brackets and braces; * ? [] {} and ** are special.")
	case len(pattern) > maxGlob:
		return fault.New(fault.InvalidToolParams, op, "The pattern is longer than 4 KiB.", "Use a shorter one, or several.")
	case alternatives(pattern) > maxAlternatives:
		return fault.New(fault.InvalidToolParams, op, "The braces of the pattern "+escape.ClipBytes(pattern, maxShown)+" expand to too many patterns.",
			"Use fewer braces, or * in their place.")
	}
	return nil
}

// alternatives returns the number of patterns that the braces expand to, or more if they are
// nested.
func alternatives(pattern string) int {
	all := 1
	var open []int
	for i := 0; i < len(pattern) && all <= maxAlternatives; i++ {
		last := len(open) - 1
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			open = append(open, 1)
		case c == ',' && last >= 0:
			open[last]++
		case c == '}' && last >= 0:
			all *= open[last]
			open = open[:last]
		}
	}
	return all
}

// glob is a compiled pattern for paths.
type glob struct {
	pattern  string
	elements []string // nil if braces may contain a slash
	fold     bool
}

func newGlob(pattern string, fold bool) *glob {
	if fold {
		pattern = strings.ToLower(pattern)
	}
	g := &glob{pattern: pattern, fold: fold}
	if !strings.Contains(pattern, "{") {
		g.elements = strings.Split(strings.ReplaceAll(pattern, `\/`, "/"), "/")
	}
	return g
}

func (g *glob) match(rel string) bool {
	if g.fold {
		rel = strings.ToLower(rel)
	}
	return doublestar.MatchUnvalidated(g.pattern, rel)
}

// mayHold reports whether a file below the directory rel may match.
func (g *glob) mayHold(rel string) bool {
	if g.elements == nil {
		return true
	}
	if g.fold {
		rel = strings.ToLower(rel)
	}
	i := 0
	for element := range strings.SplitSeq(rel, "/") {
		switch {
		case i == len(g.elements)-1 && g.elements[i] != "**":
			return false
		case strings.Contains(g.elements[i], "**"):
			return true
		case !doublestar.MatchUnvalidated(g.elements[i], element):
			return false
		}
		i++
	}
	return i < len(g.elements)
}

package discovery

import (
	"context"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Search says what to look for, and where.
type Search struct {
	Pattern *Pattern // required
	// Start is a directory to search, or a file. It counts as named by the
	// caller. Required.
	Start workspace.Path
	// Include and Exclude are globs that a file's path below Start, or its
	// name if the glob has no slash, must and must not match. Optional. Both
	// are checked with [CheckGlob] by the caller.
	Include, Exclude string
	// Context is how many lines to give before and after each match.
	Context int
	// NamesOnly gives no lines, and counts each file as one match.
	NamesOnly bool
	// PerFile and Total are how many matches to give. Zero or less: no limit
	// but MaxBytes.
	PerFile, Total int
	// MaxFiles is how many files to give. Zero or less, or more than
	// [Options.MaxFiles]: that many.
	MaxFiles int
	// LineBytes is how much of a line to give: a longer one is clipped around
	// its match. Zero or less: 2,000.
	LineBytes int
	// MaxBytes is how much text to give. Zero or less: 256 KiB.
	MaxBytes int
	// MayShow says whether anything of a file may be given (PR-29). It is asked
	// once each about Start, if that is a file, before it is searched, and about
	// files below it at their first match, from several goroutines at once. Nil:
	// all may.
	MayShow func(p workspace.Path) bool
}

const (
	defaultLineBytes = 2_000
	defaultMaxBytes  = 256 << 10
	unlimited        = 1 << 30
)

// FileMatches are the lines found in one file.
type FileMatches struct {
	Path    workspace.Path
	Lines   []Line // by number; empty if Search.NamesOnly
	Matches int    // how many of Lines are matches; 1 if Search.NamesOnly
	More    bool   // there are others, left out by PerFile or another limit
}

// Limit names one of the limits of a [Search].
type Limit int

// The limits. The zero value is none of them.
const (
	LimitTotal   Limit = iota + 1 // Search.Total
	LimitPerFile                  // Search.PerFile, where Start is a file
	LimitFiles                    // Search.MaxFiles or Options.MaxFiles
	LimitBytes                    // Search.MaxBytes
)

// Results are what a [Search] found, sorted by path.
type Results struct {
	Files      []FileMatches
	Matches    int
	More       bool  // a limit ended the search: what comes after the last match was not looked at, or not given
	Limit      Limit // the limit that was met, if More
	Binary     int   // files left out because they are not text
	Unreadable int   // files that could not be read
	Withheld   int   // files of which MayShow let nothing be given: Start, or those with a match
	Tally      Tally
}

// Search looks for lines that match. It reads text: a file with a NUL byte in
// its first 8 KiB is left out, unless it is UTF-16 with a byte order mark. All
// other text is taken for UTF-8, and bytes that are not match no character but
// U+FFFD: finding out in which older encoding a file is takes longer than to
// search it. Of a file that grows meanwhile it reads what was there when it was opened. Links
// are not followed, except by Start. Files are searched side by side, and the
// results are the same whatever the order: sorted by path and line, and with a
// limit the first of them.
//
// It searches by itself also where ripgrep is installed, which is not faster by
// enough to be worth a second meaning of patterns and ignore rules:
// docs/benchmarks.md has both side by side.
//
// Errors are about Start, those of [workspace.Workspace.Stat], not_a_regular_file
// or cancelled.
func (f *Finder) Search(ctx context.Context, s Search) (Results, error) {
	s.defaults()
	info, err := f.files.Stat(s.Start)
	if err != nil {
		return Results{}, err
	}
	if !info.Mode.IsDir() {
		return f.searchFile(ctx, s, info)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	top, err := f.files.OpenFolder(s.Start)
	if err != nil {
		return Results{}, err
	}
	defer top.Close()
	k := &searcher{f: f, Search: s, ctx: ctx, top: top, pending: make(chan *batch, maxPending), work: make(chan *batch, maxPending)}
	var running sync.WaitGroup
	defer running.Wait() // before which cancel is called
	defer cancel()
	for range min(runtime.GOMAXPROCS(0), maxWorkers) {
		running.Go(k.scan)
	}
	var (
		tally   Tally
		walkErr error
	)
	running.Go(func() {
		defer close(k.work)
		defer close(k.pending)
		tally, walkErr = k.walk()
	})
	most := f.options.MaxFileCount()
	if s.MaxFiles > 0 {
		most = min(most, s.MaxFiles)
	}
	results := k.collect(most)
	if err := ctx.Err(); err != nil {
		return Results{}, cancelled(err)
	}
	if !results.More {
		running.Wait()
		if walkErr != nil {
			return Results{}, walkErr
		}
		results.Tally = tally
	}
	return results, nil
}

func (s *Search) defaults() {
	for _, v := range []*int{&s.PerFile, &s.Total} {
		if *v <= 0 {
			*v = unlimited
		}
	}
	if s.LineBytes <= 0 {
		s.LineBytes = defaultLineBytes
	}
	if s.MaxBytes <= 0 {
		s.MaxBytes = defaultMaxBytes
	}
	s.Context = max(s.Context, 0)
}

func (s *Search) scanner(ctx context.Context) *scanner {
	ended := func() bool { return ctx.Err() != nil }
	return &scanner{pattern: s.Pattern.matcher(ended), context: s.Context, width: s.LineBytes, nameOnly: s.NamesOnly}
}

// keep returns the filter of the globs.
func (s *Search) keep() func(rel string) bool {
	include, exclude := fileGlob(s.Include), fileGlob(s.Exclude)
	if include == nil && exclude == nil {
		return nil
	}
	return func(rel string) bool {
		return (include == nil || include(rel)) && (exclude == nil || !exclude(rel))
	}
}

// fileGlob returns what compares files with a glob; nil if there is none.
func fileGlob(pattern string) func(rel string) bool {
	pattern = strings.TrimPrefix(filepath.ToSlash(pattern), "./")
	if pattern == "" {
		return nil
	}
	if extension, ok := strings.CutPrefix(strings.TrimPrefix(pattern, "**/"), "*"); ok && !strings.ContainsAny(extension, `*?[]{}\/`) {
		return func(rel string) bool { return strings.HasSuffix(rel, extension) }
	}
	if !strings.Contains(pattern, "/") {
		g := newGlob(pattern, false)
		return func(rel string) bool { return g.match(path.Base(rel)) }
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	return newGlob(strings.TrimPrefix(pattern, "/"), false).match
}

// searchFile searches the one file that is named.
func (f *Finder) searchFile(ctx context.Context, s Search, info workspace.Info) (Results, error) {
	if err := ctx.Err(); err != nil {
		return Results{}, cancelled(err)
	}
	if !info.Mode.IsRegular() {
		return Results{}, fault.New(fault.NotARegularFile, "discovery.search", "Not a regular file: "+s.Start.String()+".", "Name a file or a directory.")
	}
	if s.MayShow != nil && !s.MayShow(s.Start) {
		return Results{Withheld: 1}, nil
	}
	file, err := f.files.OpenRead(s.Start)
	if err != nil {
		return Results{}, err
	}
	defer file.Close() //nolint:errcheck // only read
	scan := s.scanner(ctx)
	scan.most, scan.budget = min(s.PerFile, s.Total), s.MaxBytes
	found, err := scan.scan(file)
	if ctx.Err() != nil {
		return Results{}, cancelled(ctx.Err())
	}
	if err != nil {
		return Results{}, fault.Wrap(fault.ReadContentFailure, "discovery.search", "The file cannot be read: "+s.Start.String()+".", "Check the state of the disk, then try again.", err)
	}
	found = found.cut(scan.most, s.MaxBytes)
	results := Results{Matches: found.matches, More: found.more}
	switch {
	case !found.more:
	case found.matches >= s.Total:
		results.Limit = LimitTotal
	case found.matches >= s.PerFile:
		results.Limit = LimitPerFile
	default:
		results.Limit = LimitBytes
	}
	if found.binary {
		results.Binary = 1
	}
	if found.matches > 0 {
		results.Files = []FileMatches{{s.Start, found.lines, found.matches, found.more}}
	}
	return results, nil
}

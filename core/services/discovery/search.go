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

// Search configures [Finder.Search].
type Search struct {
	Pattern *Pattern // required
	// Start is the directory or file to search. It counts as named by the caller. Required.
	Start workspace.Path
	// Include and Exclude are globs that a file's path below Start, or its name if the glob has no
	// slash, must and must not match. Optional. The caller checks both with [CheckGlob].
	Include, Exclude string
	// Context is the number of lines before and after each match.
	Context int
	// NamesOnly returns no lines, and counts each file as one match.
	NamesOnly bool
	// PerFile and Total are the maximum numbers of matches. Zero or less: no limit except MaxBytes.
	PerFile, Total int
	// MaxFiles is the maximum number of files. Zero or less, or more than [Options.MaxFiles]: that
	// number.
	MaxFiles int
	// LineBytes is the maximum number of bytes of a line: a longer one is clipped around its match.
	// Zero or less: 2,000.
	LineBytes int
	// MaxBytes is the maximum size of the text. Zero or less: 256 KiB.
	MaxBytes int
	// MayShow reports whether a file may be shown. It is called once for Start, if that is a file,
	// before it is searched, and for files below it at their first match, from several goroutines
	// concurrently. Nil: all may.
	MayShow func(p workspace.Path) bool
}

const (
	defaultLineBytes = 2_000
	defaultMaxBytes  = 256 << 10
	unlimited        = 1 << 30
)

// FileMatches contains the lines found in one file.
type FileMatches struct {
	Path    workspace.Path
	Lines   []Line // by number; empty if Search.NamesOnly
	Matches int    // number of matches in Lines; 1 if Search.NamesOnly
	More    bool   // there are more, omitted because of PerFile or another limit
}

// Limit identifies a limit of a [Search].
type Limit int

// The limits. The zero value is no limit.
const (
	LimitTotal   Limit = iota + 1 // Search.Total
	LimitPerFile                  // Search.PerFile, if Start is a file
	LimitFiles                    // Search.MaxFiles or Options.MaxFiles
	LimitBytes                    // Search.MaxBytes
)

// Results is the result of a [Search], sorted by path.
type Results struct {
	Files      []FileMatches
	Matches    int
	More       bool  // a limit ended the search: later files were not searched, or not returned
	Limit      Limit // the limit that was reached, if More
	Binary     int   // files omitted because they are not text
	Unreadable int   // files that could not be read
	Withheld   int   // files that MayShow denied: Start, or those with a match
	Tally      Tally
}

// Search finds matching lines. It reads text: a file with a NUL byte in its first 8 KiB is skipped,
// unless it is UTF-16 with a byte order mark. All other text is read as UTF-8, and invalid bytes
// match only U+FFFD: detecting an older encoding takes longer than searching. Of a file that grows
// it reads the bytes present when it was opened. Links are not followed, except by Start. Files are
// searched concurrently, and the results are deterministic: sorted by path and line, and with a
// limit the first of them.
//
// It does not use ripgrep even if that is installed, because the small gain is not worth a second
// interpretation of patterns and ignore rules: docs/benchmarks.md compares both.
//
// Errors concern Start: those of [workspace.Workspace.Stat], not_a_regular_file or cancelled.
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
	top, err := f.files.OpenDir(s.Start)
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

// fileGlob returns the filter for a glob; nil if there is none.
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

// searchFile searches a single file.
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

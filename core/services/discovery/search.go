package discovery

import (
	"context"
	"os"
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
	// Start is a folder to search, or a file. It counts as named by the
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

// Results are what a [Search] found, sorted by path.
type Results struct {
	Files      []FileMatches
	Matches    int
	More       bool // a limit ended the search: what comes after the last match was not looked at, or not given
	Binary     int  // files left out because they are not text
	Unreadable int  // files that could not be read
	Withheld   int  // files of which MayShow let nothing be given: Start, or those with a match
	Tally      Tally
}

// Search looks for lines that match. It reads text: a file with a NUL byte in
// its first 8 KiB is left out, unless it is UTF-16 with a byte order mark. Of a
// file that grows meanwhile it reads what was there when it was opened. Links
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
		return Results{}, fault.New(fault.NotARegularFile, "discovery.search", "Not a regular file: "+s.Start.String()+".", "Name a file or a folder.")
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
	if found.binary {
		results.Binary = 1
	}
	if found.matches > 0 {
		results.Files = []FileMatches{{s.Start, found.lines, found.matches, found.more}}
	}
	return results, nil
}

const (
	// maxPending bounds the batches that are searched and not yet collected.
	maxPending = 32
	batchFiles = 32
)

// batch is some files of one folder, next to each other in order.
type batch struct {
	dir   string
	names []string

	done       chan struct{} // closed when the rest is filled in
	found      []fileLines   // by place in names; shorter if limits were reached
	unreadable int
}

// searcher is a search of a folder. One goroutine walks and hands batches to
// those that scan; the caller's takes them in order.
type searcher struct {
	Search
	f       *Finder
	ctx     context.Context
	top     *workspace.Folder // Start
	pending chan *batch       // in order
	work    chan *batch
}

// walk sends batches until the walk or ctx ends.
func (k *searcher) walk() (Tally, error) {
	var b *batch
	send := func() bool {
		if b == nil {
			return true
		}
		ready := b
		b = nil
		for _, to := range []chan *batch{k.pending, k.work} {
			select {
			case to <- ready:
			case <-k.ctx.Done():
				return false
			}
		}
		return true
	}
	tally, err := k.f.Walk(k.ctx, Walk{Start: k.Start, Depth: -1, Keep: k.keep()}, func(file File) bool {
		if b != nil && (b.dir != file.Dir || len(b.names) == batchFiles) && !send() {
			return false
		}
		if b == nil {
			b = &batch{dir: file.Dir, done: make(chan struct{})}
		}
		b.names = append(b.names, file.Name)
		return true
	})
	if err != nil {
		return tally, err
	}
	if !send() || k.ctx.Err() != nil {
		return tally, cancelled(k.ctx.Err())
	}
	return tally, nil
}

// scan searches batches until there are no more or ctx ends.
func (k *searcher) scan() {
	s := k.scanner(k.ctx)
	for {
		select {
		case b, ok := <-k.work:
			if !ok {
				return
			}
			k.scanBatch(s, b)
			close(b.done)
		case <-k.ctx.Done():
			return
		}
	}
}

func (k *searcher) scanBatch(s *scanner, b *batch) {
	folder, err := k.top, error(nil)
	if b.dir != "" {
		folder, err = k.top.Below(b.dir)
	}
	if err != nil {
		if fault.CodeOf(err) != fault.FileNotFound {
			b.unreadable = len(b.names)
		}
		return
	}
	if folder != k.top {
		defer folder.Close()
	}
	// No more is needed of one batch than of all.
	matches, budget := 0, k.MaxBytes
	b.found = make([]fileLines, 0, len(b.names))
	if k.MayShow != nil {
		s.mayShow = func() bool {
			p, err := k.path(b, len(b.found))
			return err == nil && k.MayShow(p)
		}
	}
	for _, name := range b.names {
		if k.ctx.Err() != nil {
			return
		}
		s.most, s.budget = min(k.PerFile, k.Total-matches), budget
		found, err := scanNamed(s, folder, name)
		if err != nil {
			if fault.CodeOf(err) != fault.FileNotFound {
				b.unreadable++
			}
			found = fileLines{}
		}
		b.found = append(b.found, found)
		matches, budget = matches+found.matches, s.budget
		if found.more && (matches >= k.Total || budget <= 0) {
			return
		}
	}
}

// path returns the path of the file at that place of a batch.
func (k *searcher) path(b *batch, i int) (workspace.Path, error) {
	return k.f.files.Resolve(filepath.Join(k.Start.String(), filepath.FromSlash(join(b.dir, b.names[i]))))
}

func scanNamed(s *scanner, folder *workspace.Folder, name string) (fileLines, error) {
	file, err := folder.Open(name)
	if err != nil {
		return fileLines{}, err
	}
	defer closeFile(file)
	return s.scan(file)
}

func closeFile(f *os.File) { _ = f.Close() } // only read

// collect takes the batches in order until there are no more, a limit is
// reached or ctx ends.
func (k *searcher) collect(maxFiles int) Results {
	var r Results
	budget := k.MaxBytes
	for {
		var b *batch
		select {
		case next, ok := <-k.pending:
			if !ok {
				return r
			}
			b = next
		case <-k.ctx.Done():
			return r
		}
		select {
		case <-b.done:
		case <-k.ctx.Done():
			return r
		}
		r.Unreadable += b.unreadable
		for i, found := range b.found {
			if found.binary {
				r.Binary++
			}
			if found.withheld {
				r.Withheld++
			}
			if found.matches == 0 && !found.more {
				continue
			}
			if r.Matches >= k.Total || len(r.Files) >= maxFiles || budget <= 0 || found.matches == 0 {
				r.More = true
				return r
			}
			p, err := k.path(b, i)
			if err != nil {
				continue
			}
			kept := found.cut(k.Total-r.Matches, budget)
			for _, line := range kept.lines {
				budget -= len(line.Text)
			}
			r.Files = append(r.Files, FileMatches{p, kept.lines, kept.matches, kept.more})
			r.Matches += kept.matches
			if kept.more && (r.Matches >= k.Total || budget <= 0) {
				r.More = true
				return r
			}
		}
	}
}

// cut returns at most so many of the matches, and no line beyond so many
// bytes of text but the first match.
func (f fileLines) cut(matches, bytes int) fileLines {
	seen := 0
	for i, line := range f.lines {
		if line.Match {
			seen++
		}
		over := seen > matches || bytes <= 0 && seen > 1
		if over || bytes <= 0 && !line.Match && seen > 0 {
			f.lines, f.more = f.lines[:i], true
			f.matches = seen
			if line.Match {
				f.matches--
			}
			break
		}
		bytes -= len(line.Text)
	}
	return f
}

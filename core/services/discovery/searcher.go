package discovery

import (
	"context"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

const (
	// maxPending limits the batches that are searched and not yet collected.
	maxPending = 32
	batchFiles = 32
)

// batch is a group of files of one directory, adjacent in order.
type batch struct {
	dir   string
	names []string

	done       chan struct{} // closed when the result is complete
	found      []fileLines   // by index in names; shorter if limits were reached
	unreadable int
}

// searcher is a search of a directory. One goroutine walks and passes batches to scanning ones; the
// caller's goroutine collects them in order.
type searcher struct {
	Search
	f       *Finder
	ctx     context.Context
	top     *workspace.Dir // Start
	pending chan *batch    // in order
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
	directory, err := k.top, error(nil)
	if b.dir != "" {
		directory, err = k.top.Below(b.dir)
	}
	if err != nil {
		if fault.CodeOf(err) != fault.FileNotFound {
			b.unreadable = len(b.names)
		}
		return
	}
	if directory != k.top {
		defer directory.Close()
	}
	// The limits of the search also apply to each batch.
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
		found, err := scanNamed(s, directory, name)
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

// path returns the path of a file of a batch.
func (k *searcher) path(b *batch, i int) (workspace.Path, error) {
	return k.f.files.Resolve(filepath.Join(k.Start.String(), filepath.FromSlash(join(b.dir, b.names[i]))))
}

func scanNamed(s *scanner, directory *workspace.Dir, name string) (fileLines, error) {
	file, err := directory.Open(name)
	if err != nil {
		return fileLines{}, err
	}
	defer closeFile(file)
	return s.scan(file)
}

func closeFile(f *os.File) { _ = f.Close() } // only read

// collect receives the batches in order until there are no more, a limit is reached or ctx ends.
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
			switch {
			case r.Matches >= k.Total:
				r.Limit = LimitTotal
			case len(r.Files) >= maxFiles:
				r.Limit = LimitFiles
			case budget <= 0 || found.matches == 0:
				r.Limit = LimitBytes
			}
			if r.Limit != 0 {
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
			switch {
			case !kept.more:
				continue
			case r.Matches >= k.Total:
				r.Limit = LimitTotal
			case budget <= 0:
				r.Limit = LimitBytes
			default: // PerFile
				continue
			}
			r.More = true
			return r
		}
	}
}

// cut returns at most the given number of matches, and no line beyond the given bytes of text
// except the first match.
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

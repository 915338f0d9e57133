package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// task is a file whose content must be read.
type task struct {
	path  string
	info  workspace.Info
	limit int64 // bytes
	made  *seen // the result; nil: not read yet
}

// everything scans all files that are not ignored below the directories of the workspace, and all
// known files. Without an earlier full scan it reports only changes of known files. The error is of
// code cancelled, or that of a directory of the workspace; then no file counts as scanned.
func (l *scanner) everything(ctx context.Context) (findings, error) {
	defer l.closeDirectory()
	l.round++
	var f findings
	w := &fullScan{scanner: l, budget: l.store.o.MaxTotal - l.tree.kept()}
	for _, directory := range l.files.Directories() {
		if err := w.walk(ctx, directory, &f); err != nil {
			return findings{}, err
		}
	}
	if w.progress != nil && len(w.tasks) >= manyFiles {
		w.progress(len(w.tasks))
	}
	if err := w.readTasks(ctx); err != nil {
		return findings{}, err
	}
	for directory, mode := range w.dirs {
		l.update(directory, &seen{state: State{Kind: Directory, Mode: mode}}, &f)
	}
	for _, t := range w.tasks {
		l.update(t.path, t.made, &f)
	}
	var unmet []string
	for path, e := range l.tree {
		if e.round != l.round {
			unmet = append(unmet, path)
		}
	}
	slices.Sort(unmet) // so that those of a directory are adjacent
	for _, path := range unmet {
		if ctx.Err() != nil {
			return findings{}, cancelled(ctx, "Scanning the files")
		}
		l.update(path, l.fresh(path, false, true), &f) // gone, or ignored by now, but known
	}
	l.full, l.cache = true, nil
	slices.SortFunc(f.changes, func(a, b Change) int { return strings.Compare(string(a.Path), string(b.Path)) })
	f.gaps = append(l.gaps(), f.gaps...)
	return f, nil
}

// manyFiles is the number of files whose reading takes long enough to report progress.
const manyFiles = 1000

// maxGaps is the number of single files listed that are not stored.
const maxUnrestorable = 200

// gaps lists the parts of the tree that are not stored.
func (l *scanner) gaps() []Unrestorable {
	var gaps []Unrestorable
	for path, e := range l.tree {
		if e.state.NotStored != "" {
			gaps = append(gaps, Unrestorable{Name(path), e.state.NotStored})
		}
	}
	slices.SortFunc(gaps, func(a, b Unrestorable) int { return strings.Compare(string(a.Path), string(b.Path)) })
	if more := len(gaps) - maxUnrestorable; more > 0 {
		gaps = append(gaps[:maxUnrestorable], Unrestorable{gaps[maxUnrestorable].Path, fmt.Sprintf("%d more files are not stored either", more)})
	}
	return gaps
}

// fullScan is one full scan.
type fullScan struct {
	*scanner
	budget int64 // bytes that may be stored in addition
	tasks  []*task
	files  int
	mu     sync.Mutex
	dirs   map[string]fs.FileMode // with their permissions; 0 for those of the workspace itself
}

// walk finds the files of one directory that must be read.
func (w *fullScan) walk(ctx context.Context, directory string, f *findings) error {
	start, err := w.scanner.files.Resolve(directory)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return fault.Wrap(fault.ReadContentFailure, "checkpoint.look", fmt.Sprintf("The directory %s cannot be read: %s.", directory, cause(err)), "", err)
	}
	if w.dirs == nil {
		w.dirs = map[string]fs.FileMode{}
	}
	skip := w.store.skipped()
	enter := func(rel string) bool {
		path := filepath.Join(real, filepath.FromSlash(rel))
		if slices.Contains(skip, path) {
			return false
		}
		var mode fs.FileMode
		if path != real {
			info, err := lstat(w.scanner.files, path)
			if err != nil {
				return false // it is gone
			}
			mode = info.Mode & modeBits
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.dirs[path] = mode
		return true
	}
	tally, err := w.finder().Walk(ctx, discovery.Walk{Start: start, Depth: -1, Enter: enter, Bare: true}, func(file discovery.File) bool {
		if w.files++; w.files > w.store.o.MaxFiles {
			return false
		}
		w.meet(filepath.Join(real, filepath.FromSlash(file.Rel())), *file.Info)
		return true
	})
	if err != nil {
		return err
	}
	for _, why := range tally.Reasons {
		f.gaps = append(f.gaps, Unrestorable{Name(why.Path), fmt.Sprintf("it is ignored by %s, line %d, and so are all other files that this line matches", why.Source, why.Line)})
	}
	for _, closed := range tally.Closed {
		f.gaps = append(f.gaps, Unrestorable{Name(closed), "the directory cannot be listed"})
	}
	switch {
	case w.files > w.store.o.MaxFiles:
		f.notes = append(f.notes, fmt.Sprintf("There are more than %d files below the directories of the workspace; the others are not scanned, and their changes cannot be undone.", w.store.o.MaxFiles))
	case tally.Partial:
		f.notes = append(f.notes, "There are too many files below "+directory+"; some are not scanned, and their changes cannot be undone.")
	}
	return nil
}

// meet decides whether a file must be read.
func (w *fullScan) meet(path string, info workspace.Info) {
	known := w.tree[path]
	if known != nil && known.round == w.round {
		return // below two directories of the workspace
	}
	if known == nil && !w.full {
		if known = w.cache[path]; known != nil && (known.state.SHA256 == "" || !known.settled(printOf(info)) || !w.store.has(known.state.SHA256) || known.state.keptBytes() > w.budget) {
			known = nil
		}
		if known != nil {
			w.budget -= known.state.keptBytes()
			w.tree[path] = known
		}
	}
	if known != nil && known.settled(printOf(info)) {
		known.round = w.round
		return
	}
	if known != nil {
		w.budget += known.state.keptBytes()
	}
	t := &task{path: path, info: info, limit: w.store.limit(known, false)}
	if info.Mode.IsRegular() && info.Size <= t.limit {
		if info.Size > w.budget {
			t.made = &seen{print: printOf(info), at: w.store.o.Now().UnixNano(), state: State{Kind: File, Mode: info.Mode & modeBits}}
			t.made.state.notKept(info, "it exceeds the total of "+sizeText(w.store.o.MaxTotal)+" that is stored")
		} else {
			w.budget -= info.Size
		}
	}
	w.tasks = append(w.tasks, t)
}

const maxReaders = 8

// readTasks reads the files, those of a directory by one goroutine.
func (w *fullScan) readTasks(ctx context.Context) error {
	const share = 64
	var readers sync.WaitGroup
	next := make(chan []*task)
	durable := len(w.tasks) <= durableTasks || !syncsAll
	for range min(maxReaders, runtime.GOMAXPROCS(0), len(w.tasks)/share+1) {
		readers.Go(func() {
			l := &scanner{store: w.store, files: w.scanner.files}
			defer l.closeDirectory()
			for some := range next {
				for _, t := range some {
					if t.made == nil && ctx.Err() == nil {
						t.made = l.read(t.path, t.info, durable, t.limit)
					}
				}
			}
		})
	}
	for some := range slices.Chunk(w.tasks, share) {
		next <- some
	}
	close(next)
	readers.Wait()
	if ctx.Err() != nil {
		return cancelled(ctx, "Scanning the files")
	}
	if !durable {
		if err := syncAll(w.store.o.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed("The files cannot be saved", err)
		}
	}
	return nil
}

// durableTasks is the largest number of objects that are flushed to disk one by one.
const durableTasks = 16

// skipped returns the directories that are not entered, with links resolved.
func (s *Store) skipped() []string {
	var all []string
	for _, dir := range append([]string{s.o.Dir}, s.o.Skip...) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			all = append(all, real)
		}
	}
	return all
}

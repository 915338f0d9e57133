package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// task is a file whose content has to be read.
type task struct {
	path  string
	info  workspace.Info
	limit int64 // bytes
	made  *seen // what was found; nil: not yet
}

// everything looks at all that is not ignored below the directories of the workspace,
// and at what is known already. Without a look at everything before it there are
// no changes but of what was known. The error is of code cancelled, or that of a
// directory of the workspace; then nothing counts as looked at.
func (l *looker) everything(ctx context.Context) (findings, error) {
	defer l.closeFolder()
	l.round++
	var f findings
	w := &sweep{looker: l, budget: l.store.o.MaxTotal - l.tree.kept()}
	for _, folder := range l.files.Folders() {
		if err := w.walk(ctx, folder, &f); err != nil {
			return findings{}, err
		}
	}
	if w.progress != nil && len(w.tasks) >= manyFiles {
		w.progress(len(w.tasks))
	}
	if err := w.readTasks(ctx); err != nil {
		return findings{}, err
	}
	for folder, mode := range w.folders {
		l.update(folder, &seen{state: State{Kind: Folder, Mode: mode}}, &f)
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
	slices.Sort(unmet) // so that those of a directory come together
	for _, path := range unmet {
		if ctx.Err() != nil {
			return findings{}, cancelled(ctx, "Looking at the files")
		}
		l.update(path, l.fresh(path, false, true), &f) // gone, or ignored by now, and known all the same
	}
	l.full, l.cache = true, nil
	slices.SortFunc(f.changes, func(a, b Change) int { return strings.Compare(string(a.Path), string(b.Path)) })
	f.gaps = append(l.gaps(), f.gaps...)
	return f, nil
}

// manyFiles is how many to read take long enough to tell a person of it.
const manyFiles = 1000

// maxGaps is how many single files are listed that are not kept.
const maxGaps = 200

// gaps lists what of the tree is not kept.
func (l *looker) gaps() []Gap {
	var gaps []Gap
	for path, e := range l.tree {
		if e.state.NotKept != "" {
			gaps = append(gaps, Gap{Name(path), e.state.NotKept})
		}
	}
	slices.SortFunc(gaps, func(a, b Gap) int { return strings.Compare(string(a.Path), string(b.Path)) })
	if more := len(gaps) - maxGaps; more > 0 {
		gaps = append(gaps[:maxGaps], Gap{gaps[maxGaps].Path, fmt.Sprintf("%d more files are not kept either", more)})
	}
	return gaps
}

// sweep is one look at everything.
type sweep struct {
	*looker
	budget  int64 // bytes that may be kept besides
	tasks   []*task
	files   int
	mu      sync.Mutex
	folders map[string]fs.FileMode // with their permissions; 0 for those of the workspace itself
}

// walk finds the files of one directory that have to be read.
func (w *sweep) walk(ctx context.Context, folder string, f *findings) error {
	start, err := w.looker.files.Resolve(folder)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return fault.Wrap(fault.ReadContentFailure, "checkpoint.look", fmt.Sprintf("The directory %s cannot be looked at: %s.", folder, cause(err)), "", err)
	}
	if w.folders == nil {
		w.folders = map[string]fs.FileMode{}
	}
	skip := w.store.skipped()
	enter := func(rel string) bool {
		path := filepath.Join(real, filepath.FromSlash(rel))
		if slices.Contains(skip, path) {
			return false
		}
		var mode fs.FileMode
		if path != real {
			info, err := os.Lstat(path)
			if err != nil {
				return false // it is gone
			}
			mode = info.Mode() & modeBits
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.folders[path] = mode
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
		f.gaps = append(f.gaps, Gap{Name(why.Path), fmt.Sprintf("it is ignored by %s, line %d, and so is all else that this line covers", why.Source, why.Line)})
	}
	for _, closed := range tally.Closed {
		f.gaps = append(f.gaps, Gap{Name(closed), "the directory cannot be listed"})
	}
	switch {
	case w.files > w.store.o.MaxFiles:
		f.notes = append(f.notes, fmt.Sprintf("There are more than %d files below the directories of the workspace; those beyond are not looked at, and what happens to them cannot be undone.", w.store.o.MaxFiles))
	case tally.Partial:
		f.notes = append(f.notes, "There are too many files below "+folder+"; some are not looked at, and what happens to them cannot be undone.")
	}
	return nil
}

// meet decides whether a file has to be read.
func (w *sweep) meet(path string, info workspace.Info) {
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
			t.made.state.notKept(info, "it goes beyond the total of "+sizeText(w.store.o.MaxTotal)+" that is kept")
		} else {
			w.budget -= info.Size
		}
	}
	w.tasks = append(w.tasks, t)
}

const maxReaders = 8

// readTasks reads the files, those of a directory by one goroutine.
func (w *sweep) readTasks(ctx context.Context) error {
	const share = 64
	var readers sync.WaitGroup
	next := make(chan []*task)
	durable := len(w.tasks) <= durableTasks || !syncsAll
	for range min(maxReaders, runtime.GOMAXPROCS(0), len(w.tasks)/share+1) {
		readers.Go(func() {
			l := &looker{store: w.store, files: w.looker.files}
			defer l.closeFolder()
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
		return cancelled(ctx, "Looking at the files")
	}
	if !durable {
		if err := syncAll(w.store.o.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed("What the files hold cannot be kept", err)
		}
	}
	return nil
}

// durableTasks is up to how many objects are put on the disk one by one.
const durableTasks = 16

// skipped are the directories that are not entered, with links followed.
func (s *Store) skipped() []string {
	var all []string
	for _, dir := range append([]string{s.o.Dir}, s.o.Skip...) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			all = append(all, real)
		}
	}
	return all
}

// Package filewatch reports changes of files once the files have settled.
package filewatch

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settleTime is how long files must be unchanged before a change is reported:
// editors write in several steps.
const settleTime = 100 * time.Millisecond

// Watch is a goroutine that watches files. The zero value watches nothing.
type Watch struct {
	mu    sync.Mutex
	ended bool
	stop  context.CancelFunc // nil: nothing is watched
	done  sync.WaitGroup
}

// begin runs f until End, unless End has been called.
func (w *Watch) begin(ctx context.Context, f func(ctx context.Context)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.done.Go(func() { f(ctx) })
	return true
}

// End stops watching and waits for it.
func (w *Watch) End() {
	w.mu.Lock()
	w.ended = true
	if w.stop != nil {
		w.stop()
	}
	w.mu.Unlock()
	w.done.Wait()
}

// Begin watches files, which need not exist, until End. It calls changed on a
// goroutine of its own, once at the beginning and then after each change. The
// error is the reason why the files cannot be watched.
func (w *Watch) Begin(ctx context.Context, paths []string, changed func(ctx context.Context)) error {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	f := &fileWatch{files: files, wanted: map[string]bool{}}
	for _, path := range paths {
		f.wanted[filepath.Clean(path)] = true
	}
	f.follow()
	changes := make(chan struct{}, 1)
	changes <- struct{}{} // for changes since the caller has read the files
	if !w.begin(ctx, func(ctx context.Context) {
		defer files.Close() //nolint:errcheck // nothing is left to lose
		var settled sync.WaitGroup
		settled.Go(func() { afterSettling(ctx, changes, changed) })
		f.tell(ctx, changes)
		settled.Wait()
	}) {
		return files.Close()
	}
	return nil
}

// afterSettling calls reload after changes that are followed by [settleTime]
// without any, until ctx ends.
func afterSettling(ctx context.Context, changes <-chan struct{}, reload func(ctx context.Context)) {
	timer := time.NewTimer(settleTime)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes:
			timer.Reset(settleTime)
		case <-timer.C:
			reload(ctx)
		}
	}
}

// fileWatch reports possible changes of files. It watches their directories,
// because files are replaced, and the parent of a directory that does not exist
// or is a link.
type fileWatch struct {
	files  *fsnotify.Watcher
	wanted map[string]bool
}

// follow watches the existing directories, and the targets of links. Watching a
// directory twice is harmless, and errors are ignored.
func (w *fileWatch) follow() {
	for _, path := range slices.Collect(maps.Keys(w.wanted)) {
		dir := filepath.Dir(path)
		info, err := os.Lstat(dir)
		if w.files.Add(dir) != nil || err == nil && info.Mode()&fs.ModeSymlink != 0 {
			_ = w.files.Add(filepath.Dir(dir)) // the directory may be created, or the link changed
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			w.wanted[real] = true
			_ = w.files.Add(filepath.Dir(real))
		}
	}
}

// tell sends a change for each event of a wanted file, or of its directory, until
// ctx ends.
func (w *fileWatch) tell(ctx context.Context, changes chan<- struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.files.Errors: // for example an overflow: events may be lost
		case e := <-w.files.Events:
			path := filepath.Clean(e.Name)
			if !w.wanted[path] && !w.isWatchedDir(path) || e.Op == fsnotify.Chmod {
				continue
			}
			w.follow() // the event may concern a link, or a directory that was replaced
		}
		select {
		case changes <- struct{}{}:
		default: // a change is already signalled
		}
	}
}

// isWatchedDir reports whether a path is the directory of a wanted file.
func (w *fileWatch) isWatchedDir(path string) bool {
	for wanted := range w.wanted {
		if filepath.Dir(wanted) == path {
			return true
		}
	}
	return false
}

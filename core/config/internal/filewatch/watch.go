// Package filewatch tells of files that have changed, once they have been left alone.
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

// settleTime is how long files must have been left alone before they are told of: editors write in several steps.
const settleTime = 100 * time.Millisecond

// Watch is the goroutine that watches files. The zero value watches nothing.
type Watch struct {
	mu    sync.Mutex
	ended bool
	stop  context.CancelFunc // nil: nothing is watched
	done  sync.WaitGroup
}

// begin runs f until End, unless that has been called.
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

// End waits until nothing is watched any more.
func (w *Watch) End() {
	w.mu.Lock()
	w.ended = true
	if w.stop != nil {
		w.stop()
	}
	w.mu.Unlock()
	w.done.Wait()
}

// Begin watches files, which need not exist, until End: changed is called on a goroutine
// of its own, once at the beginning and then after they have changed. The error is why
// they cannot be watched.
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
	changes <- struct{}{} // for what has changed since the caller has read them
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

// afterSettling calls reload whenever changes have come and then none for
// [settleTime], until ctx ends.
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

// fileWatch tells when one of the wanted files may have changed. It watches
// their directories, as files are replaced, and the directory above one that does not
// exist or is a link.
type fileWatch struct {
	files  *fsnotify.Watcher
	wanted map[string]bool
}

// follow watches the directories that there are, and those that links lead to.
// Watching one twice is harmless, and one that cannot be watched is left.
func (w *fileWatch) follow() {
	for _, path := range slices.Collect(maps.Keys(w.wanted)) {
		dir := filepath.Dir(path)
		info, err := os.Lstat(dir)
		if w.files.Add(dir) != nil || err == nil && info.Mode()&fs.ModeSymlink != 0 {
			_ = w.files.Add(filepath.Dir(dir)) // where the directory may be made, or the link to it pointed elsewhere
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
		case <-w.files.Errors: // as an overflow: events may be lost
		case e := <-w.files.Events:
			path := filepath.Clean(e.Name)
			if !w.wanted[path] && !w.folder(path) || e.Op == fsnotify.Chmod {
				continue
			}
			w.follow() // the event may be about a link, or about a directory that is another now
		}
		select {
		case changes <- struct{}{}:
		default: // one is waiting already
		}
	}
}

// directory reports whether a path is the directory of a wanted file.
func (w *fileWatch) folder(path string) bool {
	for wanted := range w.wanted {
		if filepath.Dir(wanted) == path {
			return true
		}
	}
	return false
}

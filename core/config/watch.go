package config

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// settleTime is how long settings files must have been left alone before they
// are read again: editors write in several steps.
const settleTime = 100 * time.Millisecond

// watching is the goroutine that watches settings files. The zero value
// watches nothing.
type watching struct {
	mu    sync.Mutex
	ended bool
	stop  context.CancelFunc // nil: nothing is watched
	done  sync.WaitGroup
}

// begin runs f until end, unless end has been called.
func (w *watching) begin(ctx context.Context, f func(ctx context.Context)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.done.Go(func() { f(ctx) })
	return true
}

// end waits until nothing is watched any more.
func (w *watching) end() {
	w.mu.Lock()
	w.ended = true
	if w.stop != nil {
		w.stop()
	}
	w.mu.Unlock()
	w.done.Wait()
}

// watch begins to watch the settings files. Where that cannot be done, it is a
// problem of the settings.
func (c *Config) watch(ctx context.Context, l *liveSettings) {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		problem := fault.Problem{Path: "the settings", Layer: settings.LayerDefault, Kind: settings.KindLater, Severity: settings.Notice,
			Message: fmt.Sprintf("The settings files cannot be watched (%v); what changes in them takes effect in the next session.", err)}
		l.reloading.Lock()
		defer l.reloading.Unlock()
		l.usable.lasting = append(l.usable.lasting, problem)
		c.keep(l, l.result, slices.Concat(l.result.Problems, []fault.Problem{problem}))
		return
	}
	w := &fileWatch{files: files, wanted: map[string]bool{}}
	for _, f := range settings.Files(l.options) {
		w.wanted[filepath.Clean(f.Path)] = true
	}
	w.follow()
	changes := make(chan struct{}, 1)
	changes <- struct{}{} // for what has changed since the settings were read
	if !c.watching.begin(ctx, func(ctx context.Context) {
		defer files.Close() //nolint:errcheck // nothing is left to lose
		var settled sync.WaitGroup
		settled.Go(func() { afterSettling(ctx, changes, c.reload) })
		w.tell(ctx, changes)
		settled.Wait()
	}) {
		_ = files.Close()
	}
}

// reload is what a change does. What goes wrong leaves all as it is.
func (c *Config) reload(ctx context.Context) {
	if err := c.ReloadSettings(ctx); err != nil && ctx.Err() == nil {
		c.given.Logger.Debug("settings", slog.Any("error", err)) // a file's mistake is one of the problems by now
	}
	if c.given.Seams.Reload != nil {
		c.given.Seams.Reload()
	}
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
// their folders, as files are replaced, and the folder above one that does not
// exist or is a link.
type fileWatch struct {
	files  *fsnotify.Watcher
	wanted map[string]bool
}

// follow watches the folders that there are, and those that links lead to.
// Watching one twice is harmless, and one that cannot be watched is left.
func (w *fileWatch) follow() {
	for _, path := range slices.Collect(maps.Keys(w.wanted)) {
		dir := filepath.Dir(path)
		info, err := os.Lstat(dir)
		if w.files.Add(dir) != nil || err == nil && info.Mode()&fs.ModeSymlink != 0 {
			_ = w.files.Add(filepath.Dir(dir)) // where the folder may be made, or the link to it pointed elsewhere
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			w.wanted[real] = true
			_ = w.files.Add(filepath.Dir(real))
		}
	}
}

// tell sends a change for each event of a wanted file, or of its folder, until
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
			w.follow() // the event may be about a link, or about a folder that is another now
		}
		select {
		case changes <- struct{}{}:
		default: // one is waiting already
		}
	}
}

// folder reports whether a path is the folder of a wanted file.
func (w *fileWatch) folder(path string) bool {
	for wanted := range w.wanted {
		if filepath.Dir(wanted) == path {
			return true
		}
	}
	return false
}

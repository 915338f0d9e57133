// Package gitdir finds the repository that git would use in a directory, and tells
// whether it is still what it was when the session began. Git runs programs that a
// repository's configuration and hooks name.
package gitdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Watch remembers the repositories of some directories. It is safe for concurrent
// use; use [NewWatch] to make one.
type Watch struct {
	since time.Time

	mu    sync.Mutex
	known map[string]contents // by common directory, links followed
}

// clockLag is how much older than the clock the time of a change may be: file systems
// take the time of the kernel's last tick.
const clockLag = 10 * time.Millisecond

// NewWatch returns a Watch that takes the repositories that git finds from some
// absolute directories as they are now.
func NewWatch(dirs ...string) *Watch {
	w := &Watch{since: time.Now().Add(-clockLag), known: make(map[string]contents)}
	for _, dir := range dirs {
		w.Add(dir)
	}
	return w
}

// Add takes the repository of another directory as it is now. One that is known
// already stays as it was.
func (w *Watch) Add(dir string) {
	r, ok := find(dir)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.known[r.common]; !known {
		w.known[r.common] = r.contents()
	}
}

// Against says in a sentence what speaks against running git in an absolute
// directory: the repository that git would use there was made or changed since the
// Watch was made, or is one that only the files of a directory make a repository. It
// is "" if nothing does, and where there is no repository.
func (w *Watch) Against(dir string) string {
	r, ok := find(dir)
	if !ok {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return fmt.Sprintf("The directory %q is not there yet, so that it cannot be told which repository git would use.", dir)
		}
		return ""
	}
	w.mu.Lock()
	before, known := w.known[r.common]
	w.mu.Unlock()
	switch {
	case known && !before.untouched() && !before.covers(r.contents()):
		return fmt.Sprintf("The configuration or the hooks of the repository %q have changed since the session began.", r.common)
	case known && (!r.linked() || !w.changed(filepath.Join(r.dir, worktreeConfig))):
		return ""
	case known:
		return fmt.Sprintf("The configuration of the work tree %q was written since the session began.", r.top)
	case r.bare:
		return fmt.Sprintf("The directory %q has the layout of a bare repository, and is not the one of the workspace.", r.top)
	}
	for _, file := range r.contents().files {
		if w.changed(file) {
			return fmt.Sprintf("The repository %q was made or changed since the session began.", r.top)
		}
	}
	return ""
}

// changed reports whether a file is newer than the Watch, or cannot be looked at.
func (w *Watch) changed(file string) bool {
	at, err := changeTime(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || !at.Before(w.since)
}

// repository is what git would use.
type repository struct {
	top    string // the directory that has it
	dir    string // its files, as top/.git, links followed
	common string // those that work trees share; dir where there are no others
	entry  string // top/.git; "" of a bare one
	bare   bool
}

const worktreeConfig = "config.worktree"

// linked reports whether it is a further work tree of another repository.
func (r *repository) linked() bool { return r.common != r.dir }

// find looks for the repository of a directory, as git does: in it and in those above
// it. What has only some of a repository's files counts too.
func find(dir string) (*repository, bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, false
	}
	for at := real; ; at = filepath.Dir(at) {
		if r, ok := in(at); ok {
			return r, true
		}
		if filepath.Dir(at) == at {
			return nil, false
		}
	}
}

// in looks for a repository right in a directory.
func in(at string) (*repository, bool) {
	entry := filepath.Join(at, ".git")
	if info, err := os.Lstat(entry); err == nil {
		real := entry
		if !info.IsDir() {
			real = leadsTo(entry)
		}
		if real != "" && exists(real, "HEAD") {
			return &repository{top: at, dir: real, common: commonOf(real), entry: entry}, true
		}
	}
	if exists(at, "HEAD") && (exists(at, "config") || exists(at, "objects") || exists(at, "refs") || exists(at, "commondir")) {
		return &repository{top: at, dir: at, common: commonOf(at), bare: filepath.Base(at) != ".git"}, true
	}
	return nil, false
}

// leadsTo is the directory of a .git that is a link or a file; "" if there is none.
func leadsTo(entry string) string {
	dir := entry
	if info, err := os.Stat(entry); err == nil && !info.IsDir() {
		dir = pointsTo(entry, "gitdir:")
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	return real
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// commonOf is the directory of what the work trees of a repository share.
func commonOf(dir string) string {
	if to := pointsTo(filepath.Join(dir, "commondir"), ""); to != "" {
		if real, err := filepath.EvalSymlinks(to); err == nil {
			return real
		}
	}
	return dir
}

// pointsTo reads a file that names another, relative to its own directory, behind a
// word; "" if it does not.
func pointsTo(file, word string) string {
	data, err := readSmall(file)
	if err != nil {
		return ""
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), word)
	if to = strings.TrimSpace(to); !ok || to == "" {
		return ""
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(file), to)
	}
	return to
}

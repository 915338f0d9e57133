// Package gitdir finds the repository that git would use in a directory, and reports whether it has
// changed since the session began. Git runs programs that the configuration and the hooks of a
// repository name.
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

// Watch stores the initial state of repositories. It is safe for concurrent use; [NewWatch] creates
// one.
type Watch struct {
	since time.Time

	mu    sync.Mutex
	known map[string]contents // by common directory, links resolved
}

// clockLag is the maximum delay of a file's change time behind the clock: file systems use the time
// of the last kernel tick.
const clockLag = 10 * time.Millisecond

// NewWatch returns a Watch with the current state of the repositories that git finds from some
// absolute directories.
func NewWatch(dirs ...string) *Watch {
	w := &Watch{since: time.Now().Add(-clockLag), known: make(map[string]contents)}
	for _, dir := range dirs {
		w.Add(dir)
	}
	return w
}

// Add adds the current state of the repository of another directory. The state of a known
// repository stays.
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

// UnsafeReason returns a sentence with the reason why running git in an absolute directory is not safe:
// the repository that git would use there was created or changed after the Watch, or it is a bare
// repository that is not one of the Watch. It returns "" if there is no such reason, also without a
// repository.
func (w *Watch) UnsafeReason(dir string) string {
	r, ok := find(dir)
	if !ok {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return fmt.Sprintf("The directory %q does not exist yet, so the repository that git would use there is unknown.", dir)
		}
		return ""
	}
	w.mu.Lock()
	before, known := w.known[r.common]
	w.mu.Unlock()
	switch {
	case known && !before.unchanged() && !before.covers(r.contents()):
		return fmt.Sprintf("The configuration or the hooks of the repository %q have changed since the session began.", r.common)
	case known && (!r.isLinked() || !w.changed(filepath.Join(r.dir, worktreeConfig))):
		return ""
	case known:
		return fmt.Sprintf("The configuration of the work tree %q was written since the session began.", r.top)
	case r.bare:
		return fmt.Sprintf("The directory %q has the layout of a bare repository, and is not the one of the workspace.", r.top)
	}
	for _, file := range r.contents().files {
		if w.changed(file) {
			return fmt.Sprintf("The repository %q was created or changed since the session began.", r.top)
		}
	}
	return ""
}

// changed reports whether a file is newer than the Watch, or its time cannot be read.
func (w *Watch) changed(file string) bool {
	at, err := changeTime(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || !at.Before(w.since)
}

// repository is the repository that git would use.
type repository struct {
	top    string // the directory that contains it
	dir    string // its files, such as top/.git, links resolved
	common string // files shared by its work trees; dir without linked work trees
	entry  string // top/.git; "" for a bare repository
	bare   bool
}

const worktreeConfig = "config.worktree"

// isLinked reports whether it is a linked work tree of another repository.
func (r *repository) isLinked() bool { return r.common != r.dir }

// find returns the repository of a directory, as git does: in the directory or the nearest
// ancestor. A directory with only some files of a repository counts too.
func find(dir string) (*repository, bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, false
	}
	for at := real; ; at = filepath.Dir(at) {
		if r, ok := repositoryAt(at); ok {
			return r, true
		}
		if filepath.Dir(at) == at {
			return nil, false
		}
	}
}

// repositoryAt returns the repository in exactly this directory.
func repositoryAt(at string) (*repository, bool) {
	entry := filepath.Join(at, ".git")
	if info, err := os.Lstat(entry); err == nil {
		real := entry
		if !info.IsDir() {
			real = gitDirOf(entry)
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

// gitDirOf returns the directory of a .git that is a link or a file; "" without one.
func gitDirOf(entry string) string {
	dir := entry
	if info, err := os.Stat(entry); err == nil && !info.IsDir() {
		dir = readPointer(entry, "gitdir:")
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

// commonOf returns the directory that the work trees of a repository share.
func commonOf(dir string) string {
	if to := readPointer(filepath.Join(dir, "commondir"), ""); to != "" {
		if real, err := filepath.EvalSymlinks(to); err == nil {
			return real
		}
	}
	return dir
}

// readPointer reads a file that contains a path after a prefix, relative to the directory of the file;
// "" without one.
func readPointer(file, word string) string {
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

// Package gitdir finds the repository that git would use in a directory, and reports whether git may
// run a program there that the user has not seen. Git runs programs that the configuration and the
// hooks of a repository name.
package gitdir

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Watch stores the initial state of repositories. It is safe for concurrent use; [NewWatch] creates
// one.
type Watch struct {
	since    time.Time
	approved func(Setting) bool

	mu    sync.Mutex
	known map[string]contents   // by common directory, links resolved; nil without repositories
	read  map[string]*effective // by the directory of the repository's files; nil until it is used
}

// clockLag is the maximum delay of a file's change time behind the clock: file systems use the time
// of the last kernel tick.
const clockLag = 10 * time.Millisecond

// NewWatch returns a Watch with the current state of the repositories that git finds from some
// absolute directories. approved reports whether the user has approved a setting; nil: none.
func NewWatch(approved func(Setting) bool, dirs ...string) *Watch {
	w := &Watch{since: time.Now().Add(-clockLag), approved: approved}
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
		if w.known == nil {
			w.known = make(map[string]contents)
		}
		w.known[r.common] = r.contents()
	}
}

// UnsafeReason returns a sentence with the reason why running git in an absolute directory is not
// safe; "" if it is, also without a repository. It is not safe if a repository that git may use
// there, or one of its checked out submodules,
//   - was changed after the Watch, or created with hooks or a setting that is not known to be harmless,
//   - is a bare repository that the Watch does not contain, or
//   - has a setting that is neither known to be harmless nor approved.
func (w *Watch) UnsafeReason(dir string) string {
	found := false
	for r := range upward(dir) {
		found = true
		if reason := w.changeOf(r); reason != "" {
			return reason
		}
		read := w.current(r)
		for _, s := range read.foreign {
			if s.Problem != "" || w.approved == nil || !w.approved(s) {
				return fmt.Sprintf("The repository %q configures %s, which is not known to be harmless.", r.top, s)
			}
		}
		for _, sub := range read.subs {
			if reason := w.changeOf(sub); reason != "" {
				return reason
			}
		}
		if read.complete {
			return ""
		}
	}
	if _, err := os.Stat(dir); !found && errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("The directory %q does not exist yet, so the repository that git would use there is unknown.", dir)
	}
	return ""
}

// changeOf returns a sentence about the change of a repository after the Watch; "" for none.
func (w *Watch) changeOf(r *repository) string {
	w.mu.Lock()
	before, known := w.known[r.common]
	w.mu.Unlock()
	switch {
	case known && !before.unchanged() && !before.covers(r.contents(), r.top):
		return fmt.Sprintf("The configuration or the hooks of the repository %q have changed since the session began.", r.common)
	case known && (!r.isLinked() || !w.changed(filepath.Join(r.dir, worktreeConfig))):
		return ""
	case known:
		return fmt.Sprintf("The configuration of the work tree %q was written since the session began.", r.top)
	case r.bare:
		return fmt.Sprintf("The directory %q has the layout of a bare repository, and is not the one of the workspace.", r.top)
	}
	now := r.contents()
	switch {
	case !slices.ContainsFunc(now.files, w.changed):
		return ""
	case !r.isOwn():
		return fmt.Sprintf("The repository %q was created or changed since the session began.", r.top)
	case !(contents{}).covers(now, r.top) || exists(r.common, "modules"): // with the hooks of submodules that are not checked out
		return fmt.Sprintf("The repository %q was created or changed since the session began, and has hooks or settings that are not known to be harmless.", r.top)
	}
	return ""
}

// isOwn reports whether the files of the repository are those in its .git, a directory.
func (r *repository) isOwn() bool {
	info, err := os.Lstat(r.entry)
	return err == nil && info.IsDir() && !r.isLinked()
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
	for r := range upward(dir) {
		return r, true
	}
	return nil, false
}

// Top returns the top directory of the work tree in which an absolute directory lies, with links
// resolved; "" if there is none, or if git may use a different one.
func Top(dir string) string {
	for r := range upward(dir) {
		if r.bare || r.entry == "" || !r.isComplete() {
			break
		}
		config, err := readSmall(filepath.Join(r.common, "config"))
		if strings.Contains(strings.ToLower(string(config)), "worktree") || err != nil && !errors.Is(err, fs.ErrNotExist) {
			break // core.worktree
		}
		return r.top
	}
	return ""
}

// upward yields the repositories in a directory and its ancestors. Git uses the first complete one.
func upward(dir string) iter.Seq[*repository] {
	return func(yield func(*repository) bool) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return
		}
		for at := real; ; at = filepath.Dir(at) {
			if r, ok := repositoryAt(at); ok && !yield(r) {
				return
			}
			if filepath.Dir(at) == at {
				return
			}
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

// SharedDirectory returns the directory of the repository to which a linked work tree belongs, given the
// directory of the work tree; "" for any other directory. The repository must name the work tree too, because
// a file .git can name any directory.
func SharedDirectory(top string) string {
	r, ok := repositoryAt(top)
	if !ok || r.entry == "" || filepath.Dir(r.dir) != filepath.Join(r.common, "worktrees") {
		return ""
	}
	named, err := filepath.EvalSymlinks(readPointer(filepath.Join(r.dir, "gitdir"), ""))
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(r.entry); err != nil || real != named {
		return ""
	}
	return r.common
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

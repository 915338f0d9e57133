package gitdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Limits of a configuration; beyond them it counts as unreadable.
const (
	maxIncludes   = 10 // depth, as in git
	maxFiles      = 200
	maxSubmodules = 4 // depth
)

// effective is the configuration that git would use in a repository and in its checked out
// submodules, with every condition of an include assumed to be true.
type effective struct {
	top      string // see repository
	complete bool   // git accepts the repository
	settings []Setting
	foreign  []Setting     // those that may make git run something
	subs     []*repository // of checked out submodules, in which git also runs hooks
	stamps   []stamp       // of all files that were read, and of missing ones
	settled  bool          // no file has changed at the time of reading
}

// stamp is the identity of a file.
type stamp struct {
	file string
	id   identity
}

// isCurrent reports whether no file has changed.
func (e *effective) isCurrent() bool {
	for i := range e.stamps {
		if identityOf(e.stamps[i].file) != e.stamps[i].id {
			return false
		}
	}
	return e.settled
}

// reader reads the configuration of a repository.
type reader struct {
	*effective
	began time.Time
	files int
}

// read reads the current configuration, with that of submodules.
func (r *repository) read() *effective {
	read := reader{effective: &effective{top: r.top, settled: true}, began: time.Now().Add(-clockLag)}
	for _, name := range []string{"HEAD", "objects", "refs"} {
		dir := r.common
		if name == "HEAD" {
			dir = r.dir
		}
		read.note(filepath.Join(dir, name))
	}
	read.complete = r.isComplete()
	read.repository(r, 0)
	return read.effective
}

// note records the identity of a file, before it is read.
func (d *reader) note(file string) {
	id := identityOf(file)
	d.stamps = append(d.stamps, stamp{file, id})
	d.settled = d.settled && id.changed.Before(d.began)
}

// repository reads the configuration of a repository and its submodules.
func (d *reader) repository(r *repository, depth int) {
	first := len(d.settings)
	d.own(r)
	for _, s := range d.settings[first:] {
		if !s.isHarmless(r.top) {
			d.foreign = append(d.foreign, s)
		}
	}
	d.submodules(r, depth)
}

// own reads the configuration of a repository without its submodules.
func (d *reader) own(r *repository) {
	if r.entry != "" {
		d.note(r.entry)
	}
	files := []string{filepath.Join(r.common, "config"), filepath.Join(r.common, worktreeConfig)}
	if r.isLinked() {
		d.note(filepath.Join(r.dir, "commondir"))
		files = append(files, filepath.Join(r.dir, worktreeConfig))
	}
	for _, file := range files {
		d.file(r, file, 0)
	}
}

// fail records that a file cannot be read.
func (d *reader) fail(r *repository, file string, err error) {
	d.settings = append(d.settings, Setting{File: file, Repository: r.common, Problem: err.Error()})
}

// file reads a configuration file and the files that it includes.
func (d *reader) file(r *repository, file string, depth int) {
	d.note(file)
	data, err := readSmall(file)
	switch d.files++; {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err == nil && (depth > maxIncludes || d.files > maxFiles):
		err = errors.New("it includes too many files")
	}
	if err != nil {
		d.fail(r, file, err)
		return
	}
	all, err := parseConfig(data)
	if err != nil {
		d.fail(r, file, err)
	}
	for _, s := range all {
		s.File, s.Repository = file, r.common
		d.settings = append(d.settings, s)
		if section, _, key := s.split(); key != "path" || section != "include" && section != "includeif" || s.Value == "" {
			continue
		}
		to, err := includedFile(file, s.Value)
		if err != nil {
			d.fail(r, s.Value, err)
			continue
		}
		d.file(r, to, depth+1)
	}
}

// includedFile returns the file that an include of a configuration file names.
func includedFile(from, value string) (string, error) {
	rest, home := strings.CutPrefix(value, "~/")
	switch {
	case home:
		dir, err := os.UserHomeDir()
		return filepath.Join(dir, rest), err
	case strings.HasPrefix(value, "~"), strings.HasPrefix(value, "%("):
		return "", errors.New("the path is not supported")
	}
	return resolvePath(filepath.Dir(from), value), nil
}

// submodules reads the configurations of checked out submodules, because git also runs in them.
func (d *reader) submodules(r *repository, depth int) {
	if r.bare || r.entry == "" {
		return
	}
	index := filepath.Join(r.dir, "index")
	d.note(index)
	paths, err := gitlinks(index)
	if err == nil && len(paths) > 0 && depth == maxSubmodules {
		err = errors.New("submodules are nested too deep")
	}
	if err != nil {
		s := Setting{File: index, Repository: r.common, Problem: err.Error()}
		d.settings, d.foreign = append(d.settings, s), append(d.foreign, s)
		return
	}
	for _, path := range paths {
		if !filepath.IsLocal(path) {
			continue
		}
		at := filepath.Join(r.top, path)
		d.note(filepath.Join(at, ".git"))
		if sub, ok := repositoryAt(at); ok {
			d.subs = append(d.subs, sub)
			d.repository(sub, depth+1)
		}
	}
}

// String returns the setting for display, on one line.
func (s Setting) String() string {
	if s.Problem != "" {
		return fmt.Sprintf("the unreadable file %s (%s)", s.File, s.Problem)
	}
	return fmt.Sprintf("%s = %q", s.Name, s.Value)
}

// Identity identifies the setting in an approval: its repository, its name and its value.
func (s Setting) Identity() string { return s.Repository + "\x00" + s.Name + "\x00" + s.Value }

// Foreign returns the settings that may make git run something in an absolute directory, of the
// repositories that git may use there and of their submodules, in the order of the files. User and
// system configuration does not count.
func Foreign(dir string) []Setting {
	var all []Setting
	for r := range upward(dir) {
		read := r.read()
		if all = append(all, read.foreign...); read.complete {
			break
		}
	}
	return all
}

// current returns the current configuration of a repository.
func (w *Watch) current(r *repository) *effective {
	w.mu.Lock()
	cached := w.read[r.dir]
	w.mu.Unlock()
	if cached == nil || cached.top != r.top || !cached.isCurrent() {
		cached = r.read()
		w.mu.Lock()
		if w.read == nil {
			w.read = make(map[string]*effective)
		}
		w.read[r.dir] = cached
		w.mu.Unlock()
	}
	return cached
}

// isComplete reports whether git accepts the repository.
func (r *repository) isComplete() bool {
	head, err := readSmall(filepath.Join(r.dir, "HEAD"))
	names := strings.HasPrefix(string(head), "ref: refs/") || len(head) >= 40 && strings.Trim(string(head[:40]), "0123456789abcdef") == ""
	return err == nil && names && exists(r.common, "objects") && exists(r.common, "refs")
}

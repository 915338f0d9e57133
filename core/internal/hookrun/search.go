package hookrun

import (
	"github.com/fettle-dev/fettle/core/hooks"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of a search; files beyond them are not covered, which is reported.
const (
	maxFound = 1000   // files
	maxSeen  = 10_000 // directory entries
)

// search finds the files of a project that a command may run.
type search struct {
	project Project
	real    string            // the project's directory with links resolved
	files   map[string]string // by absolute path, relative to the project
	written map[string]bool   // absolute paths that are only written
	open    bool
	seen    int
}

func newSearch(p Project) *search {
	s := &search{project: p, real: p.Dir, files: map[string]string{}, written: map[string]bool{}}
	if real, err := filepath.EvalSymlinks(p.Dir); err == nil {
		s.real = real
	}
	return s
}

// find adds the files that a command names.
func (s *search) find(r *reading) {
	s.open = r.open
	each := func(words []string, do func(path string)) {
		for _, word := range words {
			for _, dir := range r.dirs {
				do(at(dir, word))
			}
		}
	}
	each(r.written, func(path string) { s.written[path] = true })
	each(r.words, func(path string) { s.take(path) })
	each(r.finds, func(path string) { s.take(path) })
	trees := map[string]bool{}
	each(r.trees, func(path string) { trees[path] = true })
	each(r.given, func(path string) {
		_, inside := s.inside(path)
		info, err := os.Stat(path)
		if inside && err == nil && (s.written[path] || info.IsDir() && !trees[path]) {
			s.open = true
		}
	})
	each(r.trees, s.tree)
	each(r.globs, func(pattern string) {
		if _, inside := s.inside(pattern); !inside {
			return
		}
		matches, _ := filepath.Glob(pattern) // an invalid pattern matches nothing
		for _, path := range matches {
			s.take(path)
		}
	})
}

// inside returns a path relative to the project.
func (s *search) inside(path string) (rel string, ok bool) {
	for _, top := range []string{s.project.Dir, s.real} {
		if rel, err := filepath.Rel(top, path); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

// take adds a regular file of the project, and reports whether it is one.
func (s *search) take(path string) bool {
	rel, ok := s.inside(path)
	if !ok || s.written[path] {
		return false
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	if len(s.files) >= maxFound {
		s.open = true
		return false
	}
	s.files[path] = rel
	return true
}

// tree adds all of a directory, or the file that an interpreter finds by a name without
// extension.
func (s *search) tree(path string) {
	rel, ok := s.inside(path)
	info, err := os.Stat(path)
	switch {
	case !ok:
	case err != nil:
		for _, ending := range []string{".py", ".js", ".mjs", ".cjs", ".ts", ".json", ".rb", ".lua"} {
			s.take(path + ending)
		}
	case info.IsDir() && rel == ".":
		s.open = true
		for _, name := range []string{"__main__.py", "package.json", "index.js"} {
			s.take(filepath.Join(path, name))
		}
	case info.IsDir():
		s.walk(path, func(string) bool { return true })
	}
}

// widen adds files that an open command may run.
func (s *search) widen(h *hooks.Hook, r *reading) {
	dirs := []string{"hooks", "scripts"}
	if s.project.Settings != "" {
		dirs = append(dirs, s.project.Settings)
	}
	for _, dir := range dirs {
		s.walk(filepath.Join(s.project.Dir, dir), isProgram)
	}
	names := namesIn(append(slices.Clone(r.words), h.Command)...)
	s.walk(s.project.Dir, func(path string) bool { return names[filepath.Base(path)] })
}

// walk adds the wanted files below a directory, except those of version control and of
// installed packages.
func (s *search) walk(dir string, want func(path string) bool) {
	s.seen = 0
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if s.seen++; s.seen > maxSeen {
			s.open = true
			return fs.SkipAll
		}
		switch {
		case err != nil && d != nil && d.IsDir():
			s.open = true
			return fs.SkipDir
		case err != nil:
			return nil //nolint:nilerr // a directory that is not there has no files
		case d.IsDir():
			if name := d.Name(); path != dir && (name == ".git" || name == "node_modules" || name == "__pycache__") {
				return fs.SkipDir
			}
		case want(path):
			if !s.take(path) && !s.written[path] {
				s.open = true // a link to a directory, or more files than the limit
			}
		}
		return nil
	})
}

// isProgram reports whether a file looks executable: by its mode, its extension or its
// first bytes.
func isProgram(path string) bool {
	if endings()[filepath.Ext(path)] {
		return true
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if info.Mode().Perm()&0o111 != 0 {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // nothing was written
	var head [2]byte
	n, _ := f.Read(head[:])
	return string(head[:n]) == "#!"
}

// endings are the file extensions of interpreted programs.
var endings = set(".sh .bash .zsh .py .js .mjs .cjs .ts .rb .pl .php .lua .awk .sed .jq .ps1 .bat .cmd")

// namesIn returns the words that may be file names.
func namesIn(texts ...string) map[string]bool {
	names := map[string]bool{}
	for _, text := range texts {
		for _, name := range strings.FieldsFunc(text, func(c rune) bool { return ends(c) || strings.ContainsRune("/\\=:,{}[]*?!", c) }) {
			names[name] = true
		}
	}
	return names
}

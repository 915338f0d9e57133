package skills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// fileName is the name of a skill file.
const fileName = "SKILL.md"

// Dir is a directory that may contain skills: a SKILL.md of its own, and
// subdirectories with one each.
type Dir struct {
	Path      string // absolute
	Scope     Scope
	Extension string // name of its extension; "" if it has none
	// Within is the directory that links must not leave; "": Path, wherever it leads
	// itself.
	Within string
	// Expand expands the variables of an extension. nil: no expansion.
	Expand func(text string) string
}

// maxEntries bounds the entries that are read in one directory.
const maxEntries = 10_000

// loading is one scan of directories.
type loading struct {
	found    []Skill
	problems []fault.Problem
}

// load reads the skills of directories, in order. A missing directory has none; an
// unreadable or invalid file affects no other. The error is that of ctx.
func load(ctx context.Context, dirs []Dir) ([]Skill, []fault.Problem, error) {
	l := &loading{}
	for _, f := range dirs {
		if err := l.addDir(ctx, f); err != nil {
			return nil, nil, err
		}
	}
	return l.found, l.problems, nil
}

func (l *loading) fail(path, message, remedy string) {
	l.problems = append(l.problems, fault.Problem{Path: path, Message: message, Remedy: remedy, Severity: fault.SeverityError})
}

func (l *loading) addDir(ctx context.Context, f Dir) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := os.Stat(f.Path); errors.Is(err, fs.ErrNotExist) {
		return nil // the common case, and the cheapest check
	}
	real, err := filepath.EvalSymlinks(f.Path)
	if err == nil {
		var entries []fs.DirEntry
		if entries, err = readDir(real); err == nil {
			return l.entries(ctx, f, real, entries)
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		l.fail(f.Path, "The directory of skills cannot be read: "+cause(err)+".", "Check that it is a directory, and who may read it.")
	}
	return nil
}

// readDir lists a directory by name, up to one entry more than the limit.
func readDir(path string) ([]fs.DirEntry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	sortEntries(entries)
	return entries, err
}

// entries reads the skills of a directory; real is its resolved path.
func (l *loading) entries(ctx context.Context, f Dir, real string, entries []fs.DirEntry) error {
	within := real
	if f.Within != "" {
		var err error
		if within, err = filepath.EvalSymlinks(f.Within); err != nil || !lies(real, within) {
			l.fail(f.Path, "The directory of skills leads out of "+f.Within+", and was not read.", "Put the skills themselves there.")
			return nil
		}
	}
	if len(entries) > maxEntries {
		l.fail(f.Path, fmt.Sprintf("The directory has more than %d entries; the rest were not read.", maxEntries), "Remove entries that are not skills.")
		entries = entries[:maxEntries]
	}
	l.file(f, filepath.Join(real, fileName), within)
	if f.Scope == ScopeUser {
		l.linked(f, real)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := e.Name()
		if e.Type().IsRegular() || name == "node_modules" || name == ".git" {
			continue
		}
		l.file(f, filepath.Join(real, name, fileName), within)
	}
	return nil
}

// linksFile lists the linked skills of the user: names and absolute directories.
const linksFile = ".fettle-links.json"

// linked reads the linked skills of a directory of the user.
func (l *loading) linked(f Dir, real string) {
	path := filepath.Join(real, linksFile)
	data, err := lockedfile.Head(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	links := map[string]string{}
	if err == nil {
		err = json.Unmarshal(data, &links)
	}
	if err != nil {
		l.fail(path, "The linked skills cannot be read: "+cause(err)+".", "Remove the file, and link the skills again.")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		within, err := filepath.EvalSymlinks(links[name])
		if err != nil || !filepath.IsAbs(links[name]) {
			l.fail(path, fmt.Sprintf("The linked skill %q is not in %s any more.", name, links[name]), "Run fettle skills uninstall "+name+".")
			continue
		}
		l.file(f, filepath.Join(within, fileName), within)
	}
}

// file reads the skill at path, if there is one.
func (l *loading) file(f Dir, path, within string) {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !isLink(path):
		return
	case err != nil:
		if isDir(filepath.Dir(path)) {
			l.fail(path, "The skill cannot be read: "+cause(err)+".", "Check the file, and who may read it.")
		}
		return
	case !lies(real, within):
		l.fail(path, "The skill is a link that leads out of "+within+", and was not read.", "Copy its directory there instead.")
		return
	}
	data, err := lockedfile.Head(real, maxFile+1)
	if err != nil {
		l.fail(path, "The skill cannot be read: "+cause(err)+".", "Check the file, and who may read it.")
		return
	}
	s := Skill{Path: real, Scope: f.Scope, Extension: f.Extension}
	problems, ok := s.parse(data)
	l.problems = append(l.problems, problems...)
	if !ok {
		return
	}
	if f.Expand != nil {
		s.Description, s.Body = f.Expand(s.Description), f.Expand(s.Body)
	}
	s.Body = strings.ReplaceAll(s.Body, "${CLAUDE_SKILL_DIR}", s.Dir)
	l.found = append(l.found, s)
}

// isLink reports whether path is a symbolic link.
func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// lies reports whether a path is a directory or inside it. Both are without links.
func lies(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// cause returns an error of a file without the path.
func cause(err error) string {
	if e := new(fs.PathError); errors.As(err, &e) {
		err = e.Err
	}
	return strings.TrimSuffix(err.Error(), ".")
}

package discovery

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// above returns what ignore files above a workspace directory say of what lies in
// it: those of the repository that the directory is a part of, up to its root. They
// are read although they lie outside of the workspace, links among them
// excepted. There are none where the directory is in no repository; and none that
// ignore the directory itself, as whoever made it a workspace has named it.
func (o Options) above(folder string) []level {
	if o.NoGitIgnore {
		return nil
	}
	folder, err := workspace.RealPath(folder)
	if err != nil {
		return nil
	}
	root, ok := repositoryAbove(folder)
	if !ok {
		return nil
	}
	rel, err := filepath.Rel(root, folder)
	if err != nil {
		return nil
	}
	rel = filepath.ToSlash(rel)
	s := &Scope{top: root}
	s.git = prepend(s.git, s.loadAbove(gitName, "info", "exclude"))
	s.git = prepend(s.git, s.loadAbove(gitIgnoreName))
	for element := range strings.SplitSeq(rel, "/") {
		if s.Check(element, true).Ignored {
			s.git = nil
		}
		dir := join(s.dir, element)
		s = &Scope{top: root, dir: dir, git: seenFrom(dir, s.git)}
		if dir != rel { // the directory's own file is read with those below
			s.git = prepend(s.git, s.loadAbove(gitIgnoreName))
		}
	}
	levels := s.git
	for i, l := range levels {
		file := *l.ruleFile
		file.prefix, _ = relativeTo(l.base, rel)
		file.base = ""
		levels[i].ruleFile = &file
	}
	return levels
}

// repositoryAbove returns the root of the repository that directory lies in,
// above it; not ok if there is none, or directory is a root itself.
func repositoryAbove(folder string) (root string, ok bool) {
	for dir := folder; ; dir = filepath.Dir(dir) {
		_, err := os.Lstat(filepath.Join(dir, gitName))
		switch {
		case err == nil:
			return dir, dir != folder
		case !errors.Is(err, fs.ErrNotExist), dir == filepath.Dir(dir):
			return "", false
		}
	}
}

// loadAbove reads an ignore file in or below the directory of s by its name; nil
// if there is none, or it is a link.
func (s *Scope) loadAbove(name ...string) *ruleFile {
	path := s.path(filepath.Join(name...))
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text, ok := readSmall(lockedfile.Open(path))
	if !ok {
		return nil
	}
	return newRuleFile(path, s.dir, text)
}

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

// above returns the rules of ignore files above a workspace directory: those of the repository that
// contains the directory, up to its root. They are read although they are outside of the workspace,
// except for links. There are none if the directory is not in a repository. Rules that ignore the
// directory itself are skipped, because the user has made it a workspace.
func (o Options) above(directory string) []level {
	if o.NoGitIgnore {
		return nil
	}
	directory, err := workspace.RealPath(directory)
	if err != nil {
		return nil
	}
	root, ok := repositoryAbove(directory)
	if !ok {
		return nil
	}
	rel, err := filepath.Rel(root, directory)
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
		if dir != rel { // the directory's own file is read later
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

// repositoryAbove returns the root of the repository that contains directory, above it; ok is false
// if there is none, or directory is a root itself.
func repositoryAbove(directory string) (root string, ok bool) {
	for dir := directory; ; dir = filepath.Dir(dir) {
		_, err := os.Lstat(filepath.Join(dir, gitName))
		switch {
		case err == nil:
			return dir, dir != directory
		case !errors.Is(err, fs.ErrNotExist), dir == filepath.Dir(dir):
			return "", false
		}
	}
}

// loadAbove reads an ignore file in or below the directory of s by its name; nil if there is none,
// or it is a link.
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

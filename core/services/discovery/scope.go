package discovery

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

const (
	gitName       = ".git"
	gitIgnoreName = ".gitignore"
)

// Verdict is the reason why a path is ignored. The zero value means that it is not.
type Verdict struct {
	Ignored bool
	Source  string // absolute path of the ignore file; "" for .git, which no file ignores
	Line    int    // in Source, 1-based
	Pattern string // that line
	Path    string // the path that the line matches: the requested path or a parent directory, absolute
}

// Scope contains the ignore rules for the names in one directory. It is a snapshot, immutable, and
// safe for concurrent use. The zero value ignores only .git.
type Scope struct {
	top string // the workspace directory
	dir string // the directory relative to it, with slashes; "" is that itself

	custom []level // of files named in the options, highest precedence first
	own    []level // of the layout's own files, deepest first
	git    []level // of .gitignore, deepest first, and of the repository's exclude file

	inGit bool // the directory is a .git or inside one: nothing in it is shown

	// Directory is the verdict on the directory itself. If the caller names an ignored directory
	// its content is shown, and rules from above it do not apply in it.
	Directory Verdict
}

// Check returns the verdict on a name in the directory.
func (s *Scope) Check(name string, isDir bool) Verdict {
	if s.inGit || name == gitName {
		return Verdict{Ignored: true, Path: s.path(name)}
	}
	if l, r := s.match(name, isDir); r != nil && !r.negated {
		return Verdict{true, l.source, r.line, r.text, s.path(name)}
	}
	return Verdict{}
}

// match returns the rule that decides about a name and its file, nil if there is none.
func (s *Scope) match(name string, isDir bool) (level, *rule) {
	for _, levels := range [...][]level{s.custom, s.own, s.git} {
		for _, l := range levels {
			if r := l.match(s.dir, name, isDir); r != nil {
				return l, r
			}
		}
	}
	return level{}, nil
}

func (s *Scope) path(name string) string {
	return filepath.Join(s.top, filepath.FromSlash(s.dir), name)
}

// markers are the names in a directory that change the rules below it.
type markers struct {
	gitIgnore  bool
	own        bool
	repository bool // there is a .git
}

// note records a name.
func (m *markers) note(name, own string) {
	switch name {
	case gitName:
		m.repository = true
	case gitIgnoreName:
		m.gitIgnore = true
	case own:
		m.own = true
	}
}

// enter returns the scope of directory, whose path is dir, from s, that of its parent. m determines
// the files to read; a file that cannot be read ignores nothing.
func (o Options) enter(s *Scope, directory *workspace.Dir, dir string, m markers) *Scope {
	in := &Scope{top: s.top, dir: dir, inGit: s.inGit || lastElement(dir) == gitName}
	in.custom = seenFrom(dir, s.custom)
	in.own = seenFrom(dir, s.own)
	if m.own && o.IgnoreFile != "" {
		in.own = prepend(in.own, in.load(directory, o.IgnoreFile))
	}
	if o.NoGitIgnore {
		return in
	}
	if !m.repository { // a repository has its own rules
		in.git = seenFrom(dir, s.git)
	} else if text, ok := readExclude(directory); ok {
		source := in.path(filepath.Join(gitName, "info", "exclude"))
		in.git = prepend(nil, newRuleFile(source, dir, text))
	}
	if m.gitIgnore {
		in.git = prepend(in.git, in.load(directory, gitIgnoreName))
	}
	return in
}

// load reads an ignore file in the open directory of s, never through a link.
func (s *Scope) load(directory *workspace.Dir, name string) *ruleFile {
	text, ok := readSmall(directory.Open(name))
	if !ok {
		return nil
	}
	return newRuleFile(s.path(name), s.dir, text)
}

func prepend(levels []level, f *ruleFile) []level {
	if f == nil {
		return levels
	}
	return append([]level{{f, f.anchored}}, levels...)
}

// seenFrom returns levels as seen from dir, without those that have no rule there.
func seenFrom(dir string, levels []level) []level {
	var kept []level
	for _, l := range levels {
		if l = l.from(dir); !l.empty() {
			kept = append(kept, l)
		}
	}
	return kept
}

// lastElement returns the last element of a cleaned relative path.
func lastElement(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// String returns the line that ignores, as file:line: "pattern"; "" without a file.
func (v Verdict) String() string {
	if v.Source == "" {
		return ""
	}
	return v.Source + ":" + strconv.Itoa(v.Line) + ": " + escape.Quote(v.Pattern)
}

package policy

import (
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// joined returns path resolved against a directory, cleaned.
func joined(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// root returns the directory that paths in rules are relative to; "" if unknown.
func (j *judge) root() string {
	if len(j.call.Roots) > 0 {
		return j.call.Roots[0]
	}
	return j.call.Dir
}

// places returns the possible absolute locations of a path of a part; false if
// they are unknown, as for a path that begins with ~.
func (j *judge) places(p *shell.Part, path string) ([]string, bool) {
	if path == "" || strings.HasPrefix(path, "~") {
		return nil, false
	}
	if filepath.IsAbs(path) {
		return []string{filepath.Clean(path)}, true
	}
	var places []string
	for _, dir := range p.Dirs {
		if j.start == "" && !filepath.IsAbs(dir) || strings.HasPrefix(dir, "~") {
			return nil, false
		}
		places = append(places, filepath.Join(joined(j.start, dir), path))
	}
	return places, len(places) > 0
}

// opened returns the possible locations of a path of a part that the system
// resolves, such as that of a file or a program; false if they are unknown.
// Unlike for cd, .. is the parent of the target of the directory before it.
func (j *judge) opened(p *shell.Part, path string) ([]string, bool) {
	for _, dir := range j.left(p, path) {
		if j.call.seen(dir) != dir {
			return nil, false
		}
	}
	return j.places(p, path)
}

// left returns the absolute directories that a path of a part leaves again
// through "..".
func (j *judge) left(p *shell.Part, path string) []string {
	if !strings.Contains(path, "..") {
		return nil
	}
	dirs := p.Dirs
	if filepath.IsAbs(path) {
		dirs = []string{string(filepath.Separator)}
	}
	var left []string
	for _, dir := range dirs {
		at := joined(j.start, dir)
		for _, name := range strings.Split(filepath.ToSlash(path), "/") {
			if name == ".." {
				left = append(left, at)
			}
			at = filepath.Join(at, name)
		}
	}
	return left
}

// inside reports whether an absolute path lies in the workspace, by its text and
// by its target.
func (j *judge) inside(path string) bool {
	return j.within(path, false) && j.within(j.call.follow(path), true)
}

// within reports whether a path lies in a workspace directory or, with real, in
// the target of one.
func (j *judge) within(path string, real bool) bool {
	roots := j.call.Roots
	if len(roots) == 0 && j.call.Dir != "" {
		roots = []string{j.call.Dir}
	}
	for _, root := range roots {
		if beneath(root, path) || real && beneath(j.call.follow(root), path) {
			return true
		}
	}
	return false
}

// beneath reports whether path is root or lies in it.
func beneath(root, path string) bool {
	root = filepath.Clean(root)
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest == "" || rest[0] == filepath.Separator || root[len(root)-1] == filepath.Separator)
}

// stays reports whether a builtin command of the shell has no effect outside of
// the workspace: a change of directory does not if its target is known and lies
// there.
func (j *judge) stays(p *shell.Part) bool {
	target, moves := destination(p)
	if !moves {
		return true
	}
	places, ok := j.places(p, target)
	if !ok {
		return false
	}
	for _, path := range places {
		if !j.inside(path) {
			return false
		}
	}
	return true
}

// destination returns the target of cd, pushd or popd, "" if it is unknown. It
// reports whether the part changes the directory at all.
func destination(p *shell.Part) (string, bool) {
	if len(p.Words) == 0 {
		return "", false
	}
	switch p.Words[0].Text {
	case "cd", "pushd", "popd":
	default:
		return "", false
	}
	if p.Moves {
		return ".", true
	}
	words := p.Words[1:]
	for len(words) > 0 && fixed(words[0]) && len(words[0].Text) > 1 && words[0].Text[0] == '-' {
		end := words[0].Text == "--"
		words = words[1:]
		if end {
			break
		}
	}
	if len(words) != 1 || !fixed(words[0]) || words[0].Text == "-" || strings.HasPrefix(words[0].Text, "+") {
		return "", true
	}
	return words[0].Text, true
}

// Paths returns the absolute cleaned paths whose Call.RealPaths [Engine.Decide]
// requires: those to which a rule's pattern or plan mode may apply, the targets
// of redirections, and directories that a command line changes to. For most calls
// there are none.
func (e *Engine) Paths(c Call) []string {
	s := e.now.Load()
	// Most calls concern no path: paths would decide the same, with a copy of the arguments.
	if c.Kind != "edit" && c.Mode != ModePlan && c.Tool != agentTool {
		if found := s.find(&c, nil); !found.patterned && found.shell == nil {
			return nil
		}
	}
	return s.paths(c)
}

func (s *snapshot) paths(c Call) []string {
	t := newTrial(s, &c)
	found := s.find(&c, t.args)
	var paths []string
	add := func(path string) {
		if filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	edits := c.Kind == "edit"
	if found.patterned || edits {
		changed := t.named()
		if edits {
			changed = t.changed()
		}
		for _, path := range changed {
			add(path)
		}
		if len(paths) > 0 {
			for _, dir := range c.anchors() {
				add(filepath.Clean(dir))
			}
		}
	}
	if c.Mode == ModePlan {
		if path := t.planned(); path != "" {
			add(path)
			add(filepath.Clean(c.base()))
		}
	}
	if found.shell != nil {
		for _, path := range t.takeApart(found.shell).visited() {
			add(path)
		}
	}
	return unique(paths)
}

// targets returns the possible locations of the file of a Write; false if they
// are unknown.
func (j *judge) targets(p *shell.Part) ([]string, bool) {
	if !fixed(p.Path) {
		return nil, false
	}
	return j.opened(p, p.Path.Text)
}

// visited returns the files that the line writes and the directories it changes
// to, with the workspace directories to compare them with.
func (j *judge) visited() []string {
	var paths []string
	for i := range j.parts {
		p := &j.parts[i]
		path, ok := "", false
		switch p.Kind {
		case shell.Write:
			path, ok = p.Path.Text, fixed(p.Path)
			paths = append(paths, j.left(p, path)...)
		case shell.Builtin:
			path, ok = destination(p)
		case shell.Command, shell.Unknown:
			if len(p.Words) > 0 && fixed(p.Words[0]) && strings.Contains(p.Words[0].Text, "/") {
				paths = append(paths, j.left(p, p.Words[0].Text)...)
			}
			for n := 1; n < len(p.Words); n++ {
				if dir, moves := movedTo(p, p.Words[n:]); moves {
					places, _ := j.places(p, dir)
					paths = append(append(paths, places...), j.left(p, dir)...)
				}
			}
		}
		if ok {
			places, _ := j.places(p, path)
			paths = append(paths, places...)
		}
	}
	paths = append(paths, j.mayWrite()...)
	if len(paths) == 0 {
		return nil
	}
	if len(j.call.Roots) == 0 {
		return append(paths, j.call.Dir)
	}
	return append(paths, j.call.Roots...)
}

// unique returns the distinct strings, in order.
func unique(all []string) []string {
	seen := make(map[string]bool, len(all))
	kept := all[:0]
	for _, s := range all {
		if !seen[s] {
			seen[s] = true
			kept = append(kept, s)
		}
	}
	return kept
}

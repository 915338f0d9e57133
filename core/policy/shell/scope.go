package shell

import (
	"path"
	"slices"
	"strings"
)

// maxDirs is the maximum number of directories that are followed; beyond it they
// are unknown.
const maxDirs = 8

// dirSet holds the possible working directories of a command. An empty list means
// unknown; repo may then contain directories whose git repository it is in.
type dirSet struct {
	list, repo []string
	below      string // the path below the top directory of that repository
}

func here() dirSet { return dirSet{list: []string{"."}} }

// repository returns directories of which one lies in the git repository of the
// command's directory; none: unknown.
func (f dirSet) repository() []string {
	switch {
	case f.below != "":
		return nil
	case f.lost():
		return f.repo
	}
	return f.list
}

func (f dirSet) lost() bool { return len(f.list) == 0 }

func (f dirSet) union(g dirSet) dirSet {
	if f.below != "" || g.below != "" {
		if f.below == g.below && slices.Equal(f.repo, g.repo) {
			return f
		}
		return dirSet{}
	}
	of := f.repository()
	to := g.repository()
	if len(of) == 0 || len(to) == 0 {
		return dirSet{}
	}
	out := slices.Clone(of)
	for _, d := range to {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	switch {
	case len(out) > maxDirs:
		return dirSet{}
	case f.lost() || g.lost():
		return dirSet{repo: out}
	}
	return dirSet{list: out}
}

// moved returns the result of a change to a directory.
func (f dirSet) moved(target string) dirSet {
	if strings.HasPrefix(target, "/") || strings.HasPrefix(target, "~") {
		return dirSet{list: []string{path.Clean(target)}}
	}
	var out dirSet
	if below := path.Join(f.below, target); f.lost() && f.repo != nil && below != ".." && !strings.HasPrefix(below, "../") {
		if below == "." {
			below = ""
		}
		return dirSet{repo: f.repo, below: below}
	}
	for _, d := range f.list {
		if to := path.Join(d, target); !slices.Contains(out.list, to) {
			out.list = append(out.list, to)
		}
	}
	return out
}

// scope is the context of a command in the line.
type scope struct {
	dirs        dirSet   // its possible working directories
	success     dirSet   // those of the next command if the last one succeeded
	parent, own int      // of its parts
	depth       int      // of command lines in command lines
	top         bool     // it runs exactly once
	guess       bool     // it may not run at all: only tightening conclusions are drawn
	again       bool     // it may run again, or concurrently with other parts of the line
	prints      printed  // text written here
	fed         input    // input of commands without a redirection, if the line provides it
	bare        bool     // programs do not receive the variables that commands begin with
	set         []string // variables that certainly have a value of the line
	foreign     bool     // another program runs it: the line's functions are unknown there
}

// inside returns a scope whose changes do not leak out.
func (sc *scope) inside() *scope {
	c := *sc
	c.top = false
	return &c
}

// under returns the scope of the parts that a part contains, from its word own on.
func (sc *scope) under(parent, own int) *scope {
	c := *sc
	c.parent, c.own, c.top = parent, own, false
	return &c
}

// went sets the directories after a command.
func (sc *scope) went(all, success dirSet) { sc.dirs, sc.success = all, success }

package shell

import (
	"path"
	"slices"
	"strings"
)

// maxDirs is the maximum number of directories that are followed; beyond it they
// are unknown.
const maxDirs = 8

// folders are the possible working directories of a command. An empty list means
// unknown; repo may then contain directories whose git repository it is in.
type folders struct {
	list, repo []string
	below      string // the path below the top directory of that repository
}

func here() folders { return folders{list: []string{"."}} }

// topLevel returns the top directory of the repository.
func (f folders) topLevel() folders { return folders{repo: f.repository()} }

// repository returns directories of which one lies in the git repository of the
// command's directory; none: unknown.
func (f folders) repository() []string {
	switch {
	case f.below != "":
		return nil
	case f.lost():
		return f.repo
	}
	return f.list
}

func (f folders) lost() bool { return len(f.list) == 0 }

func (f folders) union(g folders) folders {
	if f.below != "" || g.below != "" {
		if f.below == g.below && slices.Equal(f.repo, g.repo) {
			return f
		}
		return folders{}
	}
	of := f.repository()
	to := g.repository()
	if len(of) == 0 || len(to) == 0 {
		return folders{}
	}
	out := slices.Clone(of)
	for _, d := range to {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	switch {
	case len(out) > maxDirs:
		return folders{}
	case f.lost() || g.lost():
		return folders{repo: out}
	}
	return folders{list: out}
}

// moved returns the result of a change to a directory.
func (f folders) moved(target string) folders {
	if strings.HasPrefix(target, "/") || strings.HasPrefix(target, "~") {
		return folders{list: []string{path.Clean(target)}}
	}
	var out folders
	if below := path.Join(f.below, target); f.lost() && f.repo != nil && below != ".." && !strings.HasPrefix(below, "../") {
		if below == "." {
			below = ""
		}
		return folders{repo: f.repo, below: below}
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
	dirs        folders  // its possible working directories
	success     folders  // those of the next command if the last one succeeded
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

// under returns the scope of what a part brings, from its word own on.
func (sc *scope) under(parent, own int) *scope {
	c := *sc
	c.parent, c.own, c.top = parent, own, false
	return &c
}

// went sets the directories after a command.
func (sc *scope) went(all, success folders) { sc.dirs, sc.success = all, success }

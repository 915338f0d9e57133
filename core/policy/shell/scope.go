package shell

import (
	"path"
	"slices"
	"strings"
)

// maxDirs bounds the directories that are followed; beyond, they cannot be told.
const maxDirs = 8

// directories are where a command may run. An empty list: it cannot be told; then repo
// are directories whose repository of git it is in all the same, if there are any.
type folders struct{ list, repo []string }

func here() folders { return folders{list: []string{"."}} }

// topLevel is the top directory of the repository.
func (f folders) topLevel() folders { return folders{repo: f.repository()} }

// repository lists directories of which one lies in the repository of git that holds
// the command's directory; none: it cannot be told.
func (f folders) repository() []string {
	if f.lost() {
		return f.repo
	}
	return f.list
}

func (f folders) lost() bool { return len(f.list) == 0 }

func (f folders) union(g folders) folders {
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

// moved gives where a change to a directory leads.
func (f folders) moved(target string) folders {
	if strings.HasPrefix(target, "/") || strings.HasPrefix(target, "~") {
		return folders{list: []string{path.Clean(target)}}
	}
	var out folders
	for _, d := range f.list {
		if to := path.Join(d, target); !slices.Contains(out.list, to) {
			out.list = append(out.list, to)
		}
	}
	return out
}

// scope is where in the line a command stands.
type scope struct {
	dirs        folders // where it may run
	success     folders // where the next command runs if the last one succeeded
	parent, own int     // of its parts
	depth       int     // of command lines in command lines
	top         bool    // it runs once and in any case
	guess       bool    // it may not run at all: only what tightens is concluded
	again       bool    // it may run again, or beside what else the line runs
	prints      printed // what is written here
	fed         input   // what commands read that redirect nothing, if the line gives them something
	bare        bool    // programs get none of the variables that commands begin with
	foreign     bool    // it is run by another program: the line's functions are not known there
}

// inside is a scope whose changes do not leak out.
func (sc *scope) inside() *scope {
	c := *sc
	c.top = false
	return &c
}

// under is the scope of what a part brings along, from its word own on.
func (sc *scope) under(parent, own int) *scope {
	c := *sc
	c.parent, c.own, c.top = parent, own, false
	return &c
}

// went notes where the line is after a command.
func (sc *scope) went(all, success folders) { sc.dirs, sc.success = all, success }

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// errNotOffered reports that a contestant has no tool for the work.
var errNotOffered = errors.New("not offered")

// File is a file of a case.
type File struct {
	Text       string
	Executable bool
	Link       string // target of a symbolic link
	Gone       bool   // another writer deletes the file
}

// Tree is a directory of files by name.
type Tree map[string]File

// target is the name of the file that a case is about.
const target = "a.txt"

// one returns a tree with the target.
func one(text string) Tree { return Tree{target: {Text: text}} }

// Kind is the kind of an operation.
type Kind string

// The operations. A contestant makes each of them with its own tools.
const (
	Edit    Kind = "edit"    // change the lines in which After differs from the file as it was read
	Write   Kind = "write"   // write After as the whole file
	Patch   Kind = "patch"   // apply Diff as a model wrote it
	Replace Kind = "replace" // replace Old, as a model wrote it, by New
	Shell   Kind = "shell"   // run Command
)

// Do is an operation.
type Do struct {
	Kind                           Kind
	After, Diff, Old, New, Command string
}

// Case is a state, an action of another writer, a call, and the accepted end states. A refusal is
// accepted if it leaves the files as the other writer left them.
type Case struct {
	ID, Title string
	Files     Tree
	Unread    bool // the contestant does not read the file before the call
	Outside   Tree // files that another writer leaves after the read
	Do        Do
	Done      []Tree // accepted states after a success; none: only a refusal is right
	Shows     string // a success must show this text
	Unasked   bool   // in the contestant's default set-up, without an approver
}

// group returns the part of the ID before the slash.
func (c *Case) group() string {
	g, _, _ := strings.Cut(c.ID, "/")
	return g
}

// Verdict is the judgement about the end of a case.
type Verdict string

// The verdicts, from the best to the worst.
const (
	Done    Verdict = "done"
	Refused Verdict = "refused"
	Wrong   Verdict = "wrong"
	None    Verdict = "not offered"
)

// rank returns the position of a verdict; less is better.
func (v Verdict) rank() int { return slices.Index([]Verdict{Done, Refused, Wrong, None}, v) }

// after returns the files with the changes of another writer.
func (t Tree) after(outside Tree) Tree {
	all := maps.Clone(t)
	for name, f := range outside {
		if all[name] = f; f.Gone {
			delete(all, name)
		}
	}
	return all
}

// put writes the files into dir.
func (t Tree) put(dir string) error {
	for name, f := range t {
		path := filepath.Join(dir, name)
		if f.Gone {
			if err := os.Remove(path); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if f.Link != "" {
			if err := os.Symlink(f.Link, path); err != nil {
				return err
			}
			continue
		}
		mode := fs.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(f.Text), mode); err != nil {
			return err
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
	}
	return nil
}

// found reads the files of dir, without those of git.
func found(dir string) (Tree, error) {
	all := Tree{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.IsDir():
			return nil
		case e.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			all[name] = File{Link: link}
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		all[name] = File{Text: string(data), Executable: info.Mode()&0o100 != 0}
		return err
	})
	return all, err
}

// difference returns the first difference between two trees, "" if they are equal.
func difference(want, got Tree) string {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w, g := want[name], got[name]
		if _, ok := got[name]; !ok {
			return name + " is gone"
		}
		switch {
		case w.Link != g.Link:
			return name + " is no longer the link"
		case w.Executable != g.Executable:
			return name + " has another mode"
		case w.Text != g.Text:
			at := 0
			for at < min(len(g.Text), len(w.Text)) && g.Text[at] == w.Text[at] {
				at++
			}
			at = max(0, at-12)
			return fmt.Sprintf("%s has %s, not %s", name, short(g.Text[at:min(len(g.Text), at+40)]), short(w.Text[at:min(len(w.Text), at+40)]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			return name + " was left behind"
		}
	}
	return ""
}

// short quotes a text, without its middle.
func short(s string) string {
	if len(s) > 60 {
		s = s[:28] + "…" + s[len(s)-28:]
	}
	return fmt.Sprintf("%q", s)
}

// judge returns the verdict about an answer and the files after it.
func (c *Case) judge(a Answer, got Tree) (Verdict, string) {
	untouched := difference(c.Files.after(c.Outside), got)
	if a.Refused {
		if untouched == "" {
			return Refused, ""
		}
		return Wrong, "reports an error, but " + untouched
	}
	if len(c.Done) == 0 {
		if untouched == "" && c.Do.Kind == Shell {
			return Refused, "" // the command ran without its effect
		}
		if untouched == "" {
			return Wrong, "reports success, but nothing changed"
		}
		return Wrong, untouched
	}
	why := ""
	for _, want := range c.Done {
		d := difference(want, got)
		if d == "" && !strings.Contains(a.Text, c.Shows) {
			d = fmt.Sprintf("the answer does not show %q", c.Shows)
		}
		if d == "" {
			return Done, ""
		}
		if why == "" {
			why = d
		}
	}
	return Wrong, why
}

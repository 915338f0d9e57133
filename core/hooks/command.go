package hooks

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of a command that is taken apart: the parser calls itself for each
// bracket, and a process whose stack is full cannot go on.
const (
	maxCommand = 64 << 10 // bytes
	maxNested  = 200      // opening brackets and backquotes
	maxScripts = 4        // command lines within command lines
	maxWords   = 1024
	maxFolders = 16 // that a command goes to
)

// errTooMuch says that a command cannot be vouched for.
var errTooMuch = errors.New("its command names more, or larger, files than are looked at")

// reading is what a command line says of files.
type reading struct {
	vars    map[string]string // whose values are known
	folders []string          // in which words are looked for: where the command begins, and where it goes
	words   []string          // that may be paths of what is run or read
	given   []string          // those of them that are given to programs that may run them
	trees   []string          // that may be folders of which all is run
	globs   []string
	written []string // that may be paths of what is only written
	finds   []string // names of files that programs look for by themselves
	open    bool     // more may be run than all this names
}

// readCommand takes a command apart that runs in a folder. One that is no command
// line of bash is open, and its words are what stands between blanks and quotes.
func readCommand(command, folder string, vars map[string]string) (*reading, error) {
	r := &reading{vars: maps.Clone(vars), folders: []string{folder}}
	r.script(command, 0)
	if len(r.words)+len(r.trees)+len(r.globs)+len(r.written) > maxWords {
		return nil, errTooMuch
	}
	return r, nil
}

// script reads a command line.
func (r *reading) script(text string, depth int) {
	brackets := strings.Count(text, "(") + strings.Count(text, "{") + strings.Count(text, "[") + strings.Count(text, "`")
	var file *syntax.File
	err := errTooMuch
	if depth <= maxScripts && len(text) <= maxCommand && brackets <= maxNested {
		file, err = syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	}
	if err != nil {
		r.open = true
		r.words = append(r.words, strings.FieldsFunc(text, ends)...)
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool { // what the line sets itself is not known
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				delete(r.vars, n.Name.Value)
			}
		case *syntax.WordIter:
			delete(r.vars, n.Name.Value)
		}
		return true
	})
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			r.redirections(n)
		case *syntax.CallExpr:
			r.call(n, depth)
		case *syntax.Assign:
			if n.Value != nil {
				r.add(r.resolve(n.Value), true)
			}
		case *syntax.WordIter:
			for _, item := range n.Items {
				r.add(r.resolve(item), true)
			}
		}
		return true
	})
}

// ends reports whether a character ends a word where nothing better is known.
func ends(c rune) bool { return strings.ContainsRune(" \t\r\n;|&<>()`'\"$", c) }

// redirections reads those of a statement.
func (r *reading) redirections(s *syntax.Stmt) {
	harmless := false
	if call, ok := s.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
		harmless = plain[r.resolve(call.Args[0]).name()]
	}
	for _, redirect := range s.Redirs {
		switch redirect.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.DplOut:
			r.written = append(r.written, r.resolve(redirect.Word).texts()...)
		case syntax.RdrIn, syntax.RdrInOut:
			r.add(r.resolve(redirect.Word), harmless)
		default: // a text: a program may take it for what it is to do
			r.open = r.open || !harmless
		}
	}
}

// call reads a program with its arguments.
func (r *reading) call(c *syntax.CallExpr, depth int) {
	if len(c.Args) == 0 {
		return
	}
	words := make([]resolved, len(c.Args))
	for i, arg := range c.Args {
		words[i] = r.resolve(arg)
	}
	name := words[0].name()
	r.finds = append(r.finds, finders[name]...)
	_, finder := finders[name]
	r.open = r.open || finder || words[0].unknown
	args := words[1:]
	r.add(words[0], false)
	switch {
	case name == "cd" || name == "pushd":
		r.enter(args)
	case writers[name]:
		for _, arg := range args {
			r.written = append(r.written, arg.texts()...)
		}
	case copiers[name] && len(args) > 1:
		r.written = append(r.written, args[len(args)-1].texts()...)
		r.addAll(args[:len(args)-1], true)
	case shells[name]:
		r.scripts(name, args, depth)
	case interpreters[name]:
		r.interpreted(args)
	default: // what a file is given is its own matter, as all that it runs
		r.addAll(args, plain[name] || strings.Contains(words[0].text, "/"))
	}
}

// scripts reads what a shell is given.
func (r *reading) scripts(name string, args []resolved, depth int) {
	for i, arg := range args {
		line := name == "eval" || i > 0 && strings.HasPrefix(args[i-1].text, "-") && strings.HasSuffix(args[i-1].text, "c")
		if line && !arg.unknown {
			r.script(arg.text, depth+1)
			continue
		}
		r.add(arg, false)
	}
}

// interpreted reads what a program is given that runs the file, the folder or the
// module it is given first.
func (r *reading) interpreted(args []resolved) {
	for i, arg := range args {
		switch {
		case arg.text == "-m" && i+1 < len(args):
			r.trees = append(r.trees, strings.ReplaceAll(args[i+1].text, ".", "/"))
			r.open = true // modules are looked for in several places
		case arg.text == "-c" || arg.text == "-e" || arg.text == "--eval" || arg.text == "-p":
			r.open = true // a program in another language
		}
	}
	for _, arg := range args {
		if !strings.HasPrefix(arg.text, "-") {
			r.trees = append(r.trees, arg.texts()...)
			break
		}
	}
	r.addAll(args, false)
}

// enter reads where a command goes.
func (r *reading) enter(args []resolved) {
	if len(args) == 0 || len(args[0].texts()) != 1 || strings.HasPrefix(args[0].text, "-") || 2*len(r.folders) > maxFolders {
		r.open = true
		return
	}
	for _, folder := range slices.Clone(r.folders) {
		r.folders = append(r.folders, at(folder, args[0].text))
	}
}

func (r *reading) addAll(words []resolved, harmless bool) {
	for _, w := range words {
		r.add(w, harmless)
	}
}

// add notes a word that may name a file. What is not known of it matters where
// whoever is given it may run it.
func (r *reading) add(w resolved, harmless bool) {
	if w.glob {
		r.globs = append(r.globs, w.text)
	}
	r.words = append(r.words, w.texts()...)
	if _, value, ok := strings.Cut(w.text, "="); ok {
		r.words = append(r.words, value)
	}
	if !harmless {
		r.given = append(r.given, w.texts()...)
	}
	r.open = r.open || (w.unknown || w.glob) && !harmless
}

// at is a path that counts from a folder unless it is absolute.
func at(folder, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

// set makes a set of names.
func set(names string) map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(names) {
		all[name] = true
	}
	return all
}

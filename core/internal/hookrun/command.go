package hookrun

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Bounds of an analysed command.
const (
	maxScripts = 4 // nesting of command lines
	maxWords   = 1024
	maxDirs    = 16 // directories to which a command changes
)

// errTooMuch: the command is too complex for a fingerprint.
var errTooMuch = errors.New("its command names more, or larger, files than a fingerprint covers")

// reading is the result of the analysis of a command line.
type reading struct {
	vars    map[string]string // variables with known values
	dirs    []string          // for relative words: the start directory, and targets of cd
	words   []string          // possible paths of files that are run or read
	given   []string          // the subset that is passed to programs that may run them
	trees   []string          // possible directories from which everything is run
	globs   []string
	written []string // possible paths of files that are only written
	finds   []string // names of files that programs look up themselves
	open    bool     // the command may run more files than these
}

// readCommand analyses a command that runs in a directory. If it is not valid bash, it
// is open, and its words are split at spaces and quotes.
func readCommand(command, dir string, vars map[string]string) (*reading, error) {
	r := &reading{vars: maps.Clone(vars), dirs: []string{dir}}
	r.script(command, 0)
	if len(r.words)+len(r.trees)+len(r.globs)+len(r.written) > maxWords {
		return nil, errTooMuch
	}
	return r, nil
}

// script analyses a command line.
func (r *reading) script(text string, depth int) {
	err := errTooMuch
	var script *shell.Script
	if depth <= maxScripts {
		script, err = shell.Read(text, r.vars)
	}
	if err != nil {
		r.open = true
		r.words = append(r.words, strings.FieldsFunc(text, ends)...)
		return
	}
	for name := range script.Sets { // the target is unknown
		delete(r.vars, name)
	}
	for _, call := range script.Calls {
		words := resolvedAll(call.Words)
		r.redirections(words, call.Redirects)
		r.call(words, depth)
	}
	r.addAll(resolvedAll(script.Values), true)
}

// ends reports whether a character ends a word in the fallback splitting.
func ends(c rune) bool { return strings.ContainsRune(" \t\r\n;|&<>()`'\"$", c) }

// redirections reads those of a program.
func (r *reading) redirections(words []resolved, redirects []shell.Redirect) {
	harmless := len(words) > 0 && plain()[words[0].name()]
	for _, redirect := range redirects {
		word := resolved{redirect.Word}
		switch redirect.Op {
		case ">", ">>", ">|", "&>", "&>>", ">&":
			r.written = append(r.written, word.texts()...)
		case "<", "<>":
			r.add(word, harmless)
		default: // a text, which a program may interpret as code
			r.open = r.open || !harmless
		}
	}
}

// call reads a program with its arguments.
func (r *reading) call(words []resolved, depth int) {
	if len(words) == 0 {
		return
	}
	name := words[0].name()
	r.finds = append(r.finds, finders[name]...)
	_, finder := finders[name]
	r.open = r.open || finder || words[0].unknown()
	args := words[1:]
	r.add(words[0], false)
	switch {
	case name == "cd" || name == "pushd":
		r.enter(args)
	case writers()[name]:
		for _, arg := range args {
			r.written = append(r.written, arg.texts()...)
		}
	case copiers()[name] && len(args) > 1:
		r.written = append(r.written, args[len(args)-1].texts()...)
		r.addAll(args[:len(args)-1], true)
	case shells()[name]:
		r.scripts(name, args, depth)
	case interpreters()[name]:
		r.interpreted(args)
	default: // how an executed file uses its arguments is not analyzed, nor are the commands in it
		r.addAll(args, plain()[name] || strings.Contains(words[0].Text, "/"))
	}
}

// scripts reads the arguments of a shell.
func (r *reading) scripts(name string, args []resolved, depth int) {
	for i, arg := range args {
		line := name == "eval" || i > 0 && strings.HasPrefix(args[i-1].Text, "-") && strings.HasSuffix(args[i-1].Text, "c")
		if line && !arg.unknown() {
			r.script(arg.Text, depth+1)
			continue
		}
		r.add(arg, false)
	}
}

// interpreted reads the arguments of a program that runs its first operand: a file, a
// directory or a module.
func (r *reading) interpreted(args []resolved) {
	for i, arg := range args {
		switch {
		case arg.Text == "-m" && i+1 < len(args):
			r.trees = append(r.trees, strings.ReplaceAll(args[i+1].Text, ".", "/"))
			r.open = true // modules are looked for in several places
		case arg.Text == "-c" || arg.Text == "-e" || arg.Text == "--eval" || arg.Text == "-p":
			r.open = true // a program in another language
		}
	}
	for _, arg := range args {
		if !strings.HasPrefix(arg.Text, "-") {
			r.trees = append(r.trees, arg.texts()...)
			break
		}
	}
	r.addAll(args, false)
}

// enter reads where a command goes.
func (r *reading) enter(args []resolved) {
	if len(args) == 0 || len(args[0].texts()) != 1 || strings.HasPrefix(args[0].Text, "-") || 2*len(r.dirs) > maxDirs {
		r.open = true
		return
	}
	for _, dir := range slices.Clone(r.dirs) {
		r.dirs = append(r.dirs, at(dir, args[0].Text))
	}
}

func (r *reading) addAll(words []resolved, harmless bool) {
	for _, w := range words {
		r.add(w, harmless)
	}
}

// add notes a word that may name a file. An unknown part of it matters only if the
// program that receives the word may run it, so if it is not harmless.
func (r *reading) add(w resolved, harmless bool) {
	if w.Pattern {
		r.globs = append(r.globs, w.Text)
	}
	r.words = append(r.words, w.texts()...)
	if _, value, ok := strings.Cut(w.Text, "="); ok {
		r.words = append(r.words, value)
	}
	if !harmless {
		r.given = append(r.given, w.texts()...)
	}
	r.open = r.open || !w.Static && !harmless
}

// at is a path that counts from a directory unless it is absolute.
func at(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// set returns a function that returns the set of the names in a text. The set is built at the
// first call.
func set(names string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for _, name := range strings.Fields(names) {
			all[name] = true
		}
		return all
	})
}

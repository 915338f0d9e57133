package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxFiles is the maximum number of recorded files that a line writes, and that
// it runs.
const maxFiles = 512

// writtenFile is a file that the line writes.
type writtenFile struct {
	dirs dirSet
	path string
	text printed
}

// printed is the known output of a command.
type printed struct {
	text  string
	known bool
}

// ranFile is a program or a script that the line runs.
type ranFile struct {
	sc     *scope // of its commands
	file   arg
	script bool    // a shell reads it, unless its first line names another program
	finds  *runner // the program, if it finds its files by itself; nil otherwise
	before int     // number of files written before
}

// wroteFile records that a file is written.
func (a *analysis) wroteFile(sc *scope, file arg) {
	values := file.Candidates
	if file.Static {
		values = []string{file.Text}
	}
	for _, v := range values {
		if len(a.wrote) == maxFiles {
			a.problem = "it writes too many files"
			return
		}
		a.wrote = append(a.wrote, writtenFile{sc.dirs, v, sc.prints})
	}
}

// runsFile records that a part runs the content of a file.
func (a *analysis) runsFile(sc *scope, index int, file arg, script bool) {
	if !file.Static || file.Text == "" || index < 0 {
		return
	}
	if len(a.ran) == maxFiles {
		a.problem = "it runs too many files"
		return
	}
	at := sc.under(index, len(a.parts[index].Words)) // no word refers to the content of the file
	a.ran = append(a.ran, ranFile{sc: at, file: file, script: script, before: len(a.wrote)})
}

// runWritten adds the commands in files that the line itself has written before
// running them, or may have written because parts of it run repeatedly or
// concurrently.
func (a *analysis) runWritten() {
	for i := 0; i < len(a.ran) && a.problem == ""; i++ { // walking a file may add more
		run := a.ran[i]
		files := a.wrote
		if !run.sc.again {
			files = files[:run.before]
		}
		found := -1
		for _, f := range files {
			if !a.step("") {
				return
			}
			written := placesOf(f.dirs, f.path)
			if run.finds != nil {
				if run.finds.finds(written) {
					a.unknown(run.sc, run.file.text(), "the line itself may write "+f.path+", which it runs")
					break
				}
				continue
			}
			if !sameFile(placesOf(run.sc.dirs, run.file.Text), written) {
				continue
			}
			if found < 0 {
				found = a.unknown(run.sc, run.file.text(), "the line itself writes the file that it runs")
			}
			if run.script && f.text.known && forShell(f.text.text) {
				at := run.sc.under(found, 0)
				at.guess, at.foreign = true, true
				at.depth++
				a.parseText(at, f.text.text, f.text.text)
			}
		}
	}
}

// forShell reports whether a shell runs a program with this text.
func forShell(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	return !strings.HasPrefix(first, "#!") || strings.Contains(first, "sh")
}

// place is the location of a file: below the root or a home directory, below the
// initial directory, or unknown.
type place struct {
	from rune // '/', '.' or '?'
	path string
}

func placesOf(dirs dirSet, file string) []place {
	if file = path.Clean(file); beginsRoot(file) {
		return []place{{'/', file}}
	}
	if dirs.lost() {
		return []place{{'?', file}}
	}
	places := make([]place, len(dirs.list))
	for i, dir := range dirs.list {
		places[i] = place{'.', path.Join(dir, file)}
		if beginsRoot(dir) {
			places[i].from = '/'
		}
	}
	return places
}

func beginsRoot(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~")
}

// sameFile reports whether two files may be the same. If they are relative to
// different directories, the ends of their paths are compared.
func sameFile(xs, ys []place) bool {
	for _, x := range xs {
		for _, y := range ys {
			if x.from == y.from && x.from != '?' {
				if x.path == y.path {
					return true
				}
			} else if endsWith(x.path, y.path) || endsWith(y.path, x.path) {
				return true
			}
		}
	}
	return false
}

func endsWith(path, end string) bool {
	for strings.HasPrefix(end, "../") {
		end = end[len("../"):]
	}
	return path == end || strings.HasSuffix(path, "/"+strings.TrimLeft(end, "/"))
}

// prints returns the output of echo, printf, or cat with a here-document.
func (a *analysis) prints(s *syntax.Stmt) printed {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return printed{}
	}
	switch call.Args[0].Lit() {
	case "echo", "printf":
		if !a.step(a.written(call)) {
			return printed{}
		}
		text, ok := printedText(a.words(call.Args))
		return printed{text, ok}
	case "cat":
		if in := a.input(s.Redirs); in.known && len(call.Args) == 1 {
			return printed{in.text, true}
		}
	}
	return printed{}
}

// copies records the files that tee, cp and similar programs write.
func (a *analysis) copies(sc *scope, ws []arg) {
	name := programName(ws[0])
	if !in("tee gtee sponge dd cp gcp mv gmv ln gln install ginstall", name) {
		return
	}
	var operands []arg
	for _, w := range ws[1:] {
		if !strings.HasPrefix(w.head, "-") || w.is("-") {
			operands = append(operands, w)
		}
	}
	switch name {
	case "tee", "gtee", "sponge":
		for _, w := range operands {
			a.wroteFile(sc, w)
		}
	case "dd":
		for _, w := range operands {
			if strings.HasPrefix(w.head, "of=") && w.Static {
				a.wroteFile(sc, known(w.Text[len("of="):]))
			}
		}
	case "cp", "gcp", "mv", "gmv", "ln", "gln", "install", "ginstall":
		if len(operands) < 2 {
			return
		}
		unclear := *sc
		unclear.prints = printed{}
		last := operands[len(operands)-1]
		a.wroteFile(&unclear, last)
		for _, from := range operands[:len(operands)-1] { // the last may be a directory
			if from.Static && last.Static {
				a.wroteFile(&unclear, known(path.Join(last.Text, path.Base(from.Text))))
			}
		}
	}
}

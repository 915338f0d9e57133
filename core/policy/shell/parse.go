package shell

import (
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what [Parse] looks at; a longer or deeper line has a Problem.
const (
	MaxBytes    = 16 << 10 // of the line
	MaxBrackets = 200      // opening brackets and backquotes
)

// Parse takes a bash command line apart. It never fails: what it cannot take
// apart has a Problem. It does no I/O and may be called by several goroutines.
func Parse(command string) (line *Line) {
	line = &Line{Source: command}
	if line.Problem = refuse(command); line.Problem != "" {
		return line
	}
	defer func() {
		if r := recover(); r != nil {
			line = &Line{Source: command, Problem: "the line could not be taken apart (a defect of the analysis)"}
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		line.Problem = "it does not parse as a bash command line: " + err.Error()
		return line
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			p := Part{Parent: -1, Dirs: []string{"."}}
			for _, w := range call.Args {
				p.Words = append(p.Words, Word{Text: w.Lit(), Static: w.Lit() != ""})
			}
			line.Parts = append(line.Parts, p)
		}
		return true
	})
	return line
}

// refuse says why a line is not even parsed; "" if it is.
func refuse(command string) string {
	if len(command) > MaxBytes {
		return "it is longer than 16 kB"
	}
	if !utf8.ValidString(command) {
		return "it is not valid UTF-8"
	}
	brackets := 0
	for i := range len(command) {
		switch command[i] {
		case 0:
			return "it contains a NUL byte"
		case '\r':
			return "it contains a carriage return, which bash takes for a part of a word"
		case '(', '{', '[', '`':
			brackets++
		}
	}
	if brackets > MaxBrackets {
		return "it has more than 200 opening brackets"
	}
	return ""
}

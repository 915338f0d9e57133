package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// bashArrays lists array variables of bash, or prefixes of their names.
var bashArrays = []string{"BASH_", "COMP_WORDS", "COMPREPLY", "COPROC", "DIRSTACK", "FUNCNAME", "GROUPS", "MAPFILE", "PIPESTATUS"}

// declaredValue is the value in a word of a declaration. If the variable is an
// array and the value is in brackets, bash parses it as the elements, and runs
// the commands in it.
type declaredValue struct {
	sc     *scope
	name   string
	text   string
	facts  facts
	begins bool // certainly with a bracket
}

// arrayNames records the names before a subscript in a word: they may be arrays.
func (a *analysis) arrayNames(w *syntax.Word) {
	if !strings.Contains(plainText(w), "[") {
		return
	}
	text := withHoles(w.Parts)
	for i := range len(text) {
		start := i
		for start > 0 && isNameByte(text[start-1]) {
			start--
		}
		switch {
		case text[i] != '[':
		case start > 0 && text[start-1] == 0:
			a.anyArray = true
		case start < i:
			a.arrays[text[start:i]] = true
		}
	}
}

// withHoles returns the text of pieces, with a NUL for each that bash expands.
func withHoles(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, p := range parts {
		switch q := p.(type) {
		case *syntax.DblQuoted:
			b.WriteString(withHoles(q.Parts))
		case *syntax.Lit, *syntax.SglQuoted:
			b.WriteString(plainText(&syntax.Word{Parts: []syntax.WordPart{p}}))
		default:
			b.WriteByte(0)
		}
	}
	return b.String()
}

// makesArrays reports whether an option in the words of a declaration makes its
// variables arrays. A dynamic option requires approval anyway.
func makesArrays(ws []arg) bool { return hasLetter(ws, "aA") }

// changesCase reports whether an option in the words of a declaration makes bash
// change the case of all later values of its variables.
func changesCase(ws []arg) bool { return hasLetter(ws, "luc") }

// otherCase are the facts of a variable whose values bash changes so.
var otherCase = facts{start: inOtherCase, joins: true}

// hasLetter reports whether one of the words of a declaration is an option with one
// of the letters.
func hasLetter(ws []arg, letters string) bool {
	return slices.ContainsFunc(ws[1:], func(w arg) bool {
		return w.Static && strings.HasPrefix(w.head, "-") && strings.ContainsAny(w.template, letters)
	})
}

// array records that a variable, or an element of it, may be set as an array.
func (a *analysis) array(name string) {
	name, _, _ = strings.Cut(name, "[")
	a.arrays[name] = true
}

// declaredIn records the value in a word of a declaration.
func (a *analysis) declaredIn(sc *scope, name string, value arg) {
	d := declaredValue{sc: sc, name: name, text: name + "=" + value.text(), begins: strings.HasPrefix(value.head, "(")}
	if value.head == "" && !value.Static && !value.number {
		d.facts = factsOf(value)
	}
	a.declaredValues = append(a.declaredValues, d)
}

// checkDeclared adds a part for each such value that bash may parse again.
func (a *analysis) checkDeclared() {
	for _, d := range a.declaredValues {
		array := a.anyArray || a.arrays[d.name] || slices.ContainsFunc(bashArrays, func(s string) bool { return strings.HasPrefix(d.name, s) })
		if array && (d.begins || a.mayOpen(d.facts, 0, map[string]bool{})) {
			a.unknown(d.sc, d.text, "bash may parse the value again, as the elements of an array, and run commands in it")
		}
	}
}

// mayOpen reports whether a value may begin with an opening bracket.
func (a *analysis) mayOpen(f facts, at start, seen map[string]bool) bool {
	at |= f.start
	if f.unknown || slices.ContainsFunc(f.texts, func(s string) bool { return strings.HasPrefix(s, "(") || at.mayBegin(s, "(") }) {
		return true
	}
	return slices.ContainsFunc(f.reads, func(name string) bool {
		name = canonicalName(name)
		if seen[name] {
			return false
		}
		seen[name] = true
		g := a.values[name]
		return slices.Contains(bashSets, name) && !strings.HasSuffix(name, "PWD") || g != nil && a.mayOpen(*g, at, seen)
	})
}

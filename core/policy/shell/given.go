package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// given collects the options that occur in a line as data: commands print or read
// them, or pass them to a function. They may become words whose value is
// otherwise unknown: those of read, of xargs, and parameters.
type given struct {
	texts     []string            // printed, or in here-documents
	arguments map[string][]string // of calls, by the called name
	functions []string            // defined by the line
	read      map[string]bool     // variables that read and similar commands set
}

// maxGiven is the maximum number of options of one kind.
const maxGiven = 16

// scanGiven records the options that a call passes on.
func (a *analysis) scanGiven(c *syntax.CallExpr) {
	name := c.Args[0].Lit()
	switch name {
	case "read", "mapfile", "readarray", "getopts":
		for _, w := range c.Args[1:] {
			a.given.read[w.Lit()] = true
		}
		a.given.read["REPLY"] = true
		a.given.read["MAPFILE"] = true
		return
	case "":
		return
	}
	var out []string
	for i, w := range c.Args[1:] {
		if source := a.written(w); source != "…" && !strings.ContainsAny(source, `-\`) {
			continue // not an option, however it is quoted
		}
		text := plainText(w)
		if i == 0 && (name == "echo" || name == "printf") && strings.Trim(text, "neE") == "-" {
			continue
		}
		out = append(out, optionsIn(text)...)
	}
	if name == "echo" || name == "printf" {
		a.given.texts = appendNew(a.given.texts, out...)
	} else if len(out) > 0 {
		a.given.arguments[name] = appendNew(a.given.arguments[name], out...)
	}
}

// plainText returns a word's text without its dynamic parts.
func plainText(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var text strings.Builder
	for _, p := range w.Parts {
		quoted := quotedTexts(p)
		if lit, ok := p.(*syntax.Lit); ok && quoted == nil {
			quoted = []string{lit.Value}
		}
		text.WriteString(strings.Join(quoted, ""))
	}
	return text.String()
}

// optionsIn returns the words of a text that programs read as options.
func optionsIn(text string) []string {
	var out []string
	for word := range strings.FieldsSeq(text) {
		if len(word) > 1 && word[0] == '-' && strings.Trim(word, "-") != "" && len(out) < maxGiven {
			out = append(out, word)
		}
	}
	return out
}

// givenTo returns the options that an otherwise unknown variable may contain.
func (a *analysis) givenTo(name string) []string {
	switch {
	case a.given.read[name]:
		return slices.Clone(a.given.texts)
	case name == "@", name == "*", isDigits(name):
		var out []string
		for _, f := range a.given.functions {
			out = appendNew(out, a.given.arguments[f]...)
		}
		return out
	}
	return nil
}

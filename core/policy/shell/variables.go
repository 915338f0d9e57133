package shell

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// PutVariables puts values in the place of each ${NAME} of a line for bash so that no
// value, as the name of a directory, is ever read as a part of the line. One that means
// nothing to a shell is put in as it is. Any other stays a variable of the shell, in
// quotes where it stands outside of them, and used holds it for the environment. In
// single quotes one with nothing but blanks besides is put in, and one with more stays
// a name. A line beyond its [Bounds] is not read, and has no quotes put in: err says
// so, and bash splits the values that used holds at their blanks.
func PutVariables(text string, values map[string]string) (line string, used map[string]string, err error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		switch {
		case !strings.Contains(text, reference(name)):
		case meansItself(value, "") || !syntax.ValidName(name):
			text = strings.ReplaceAll(text, reference(name), value)
		default:
			if used == nil {
				used = map[string]string{}
			}
			used[name] = value
		}
	}
	if len(used) > 0 {
		if err = Bounds(text); err == nil {
			text = quoteReferences(text, used)
		}
	}
	return text, used, err
}

func reference(name string) string { return "${" + name + "}" }

// meansItself reports whether a text means itself wherever it stands in a line for a
// shell, that of a further shell included; others are characters that are taken to
// do so besides.
func meansItself(text, others string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+@:"+others, r)
	})
}

// edit replaces bytes of a line.
type edit struct {
	from, to int
	text     string
}

// quoteReferences is a line in which references to variables that stand outside of quotes
// are in quotes, with what follows of a path. A line within its [Bounds] that is no
// bash stays as it is: bash expands what it finds.
func quoteReferences(text string, values map[string]string) string {
	file, err := parseBash(text)
	if err != nil {
		return text
	}
	var edits []edit
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			return n.Hdoc == nil // in a here-document quotes are nothing special
		case *syntax.ArithmExp, *syntax.ArithmCmd:
			return false
		case *syntax.SglQuoted:
			edits = append(edits, inSingle(text, n, values)...)
		case *syntax.Word:
			for _, part := range n.Parts {
				if e, ok := outside(text, part, values); ok {
					edits = append(edits, e)
				}
			}
		}
		return true
	})
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	for _, e := range edits {
		text = text[:e.from] + e.text + text[e.to:]
	}
	return text
}

// outside is how a part of a word that is a reference outside of quotes is put into
// some.
func outside(text string, part syntax.WordPart, values map[string]string) (edit, bool) {
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil {
		return edit{}, false
	}
	from, to := int(p.Pos().Offset()), int(p.End().Offset())
	if _, known := values[p.Param.Value]; !known || text[from:to] != reference(p.Param.Value) {
		return edit{}, false
	}
	for to < len(text) && meansItself(text[to:to+1], "") { // ASCII, and no part of a longer character
		to++
	}
	return edit{from, to, `"` + text[from:to] + `"`}, true
}

// inSingle puts values into a text in single quotes where they are no more than
// words there.
func inSingle(text string, q *syntax.SglQuoted, values map[string]string) []edit {
	var edits []edit
	for name, value := range values {
		for at, end := int(q.Pos().Offset()), int(q.End().Offset()); meansItself(value, " "); {
			i := strings.Index(text[at:end], reference(name))
			if i < 0 {
				break
			}
			at += i + len(reference(name))
			edits = append(edits, edit{at - len(reference(name)), at, value})
		}
	}
	return edits
}

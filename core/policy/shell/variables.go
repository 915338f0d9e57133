package shell

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// PutVariables expands each ${NAME} of a line for bash so that no value, such as
// the name of a directory, is read as syntax. A value without special characters
// is inserted literally. Any other stays a variable of the shell, in quotes where
// it is outside of them, and used contains it for the environment. In single
// quotes a value whose only special characters are blanks is inserted, and any
// other stays a name. A line beyond its [Bounds] is not parsed, and receives no
// quotes: err reports that, and bash splits the values in used at their blanks.
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

// meansItself reports whether a text is literal in any position of a line for a
// shell, including that of a nested shell; others are characters that count as
// literal in addition.
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

// quoteReferences returns a line in which unquoted references to variables are
// quoted, with the rest of their path. A line within its [Bounds] that is not
// bash stays unchanged: bash expands its references.
func quoteReferences(text string, values map[string]string) string {
	file, err := parseBash(text)
	if err != nil {
		return text
	}
	var edits []edit
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			return n.Hdoc == nil // quotes have no meaning in a here-document
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

// outside returns the edit that quotes a part of a word that is an unquoted
// reference.
func outside(text string, part syntax.WordPart, values map[string]string) (edit, bool) {
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil {
		return edit{}, false
	}
	from, to := int(p.Pos().Offset()), int(p.End().Offset())
	if _, known := values[p.Param.Value]; !known || text[from:to] != reference(p.Param.Value) {
		return edit{}, false
	}
	for to < len(text) && meansItself(text[to:to+1], "") { // ASCII, and not part of a longer character
		to++
	}
	return edit{from, to, `"` + text[from:to] + `"`}, true
}

// inSingle inserts values into a text in single quotes if they are only words
// there.
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

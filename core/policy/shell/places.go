package shell

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Place is the position of a placeholder in a command line.
type Place struct {
	// Write returns another text in a form that bash reads as text at this
	// position; nil: bash could run the text in any form.
	Write   func(text string) string
	Sourced bool // it is in a command that reads a file as a program, such as source

	at uint
}

// Places returns the places of a placeholder, a word of letters, in the texts of
// a command line, in order. It reports false for a line that cannot be parsed.
// Placeholders in comments, names and similar positions are omitted.
func Places(command, stand string) ([]Place, bool) {
	file, err := parseBounded(command)
	if err != nil {
		return nil, false
	}
	r := surroundings{stand: stand, assigns: assigners(file)}
	var found []Place
	var above []syntax.Node
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		text, write := r.literal(n, above)
		for range strings.Count(text, stand) {
			found = append(found, Place{write, slices.ContainsFunc(above, isSource), n.Pos().Offset()})
		}
		above = append(above, n)
		return true
	})
	slices.SortStableFunc(found, func(a, b Place) int { return cmp.Compare(a.at, b.at) })
	return found, true
}

func isSource(n syntax.Node) bool {
	call, ok := n.(*syntax.CallExpr)
	return ok && sources(call)
}

// surroundings examines the texts of one command line.
type surroundings struct {
	stand   string
	assigns map[string]bool // see assigners
}

// literal returns the text of a node that consists only of text, and the function
// that writes other text there; nil: not possible.
func (r surroundings) literal(n syntax.Node, above []syntax.Node) (text string, write func(string) string) {
	switch n := n.(type) {
	case *syntax.SglQuoted:
		if !n.Dollar && !r.unsafe(above) {
			write = inSingleQuotes
		}
		return n.Value, write
	case *syntax.Lit:
		if len(above) == 0 || r.unsafe(above) {
			return n.Value, nil
		}
		switch above[len(above)-1].(type) {
		case *syntax.DblQuoted:
			write = inDoubleQuotes
		case *syntax.Word:
			write = singleQuoted
		}
		return n.Value, write
	}
	return "", nil
}

// unsafe reports whether bash reads text there by rules other than those of words
// and quotes, or runs the content of a word.
func (r surroundings) unsafe(above []syntax.Node) bool {
	for i, n := range above {
		var next syntax.Node // the part of n that contains the text
		if i+1 < len(above) {
			next = above[i+1]
		}
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.Backquotes {
				return true // their content is unescaped once more
			}
		case *syntax.Redirect:
			if n.Hdoc != nil && next == n.Hdoc {
				return true
			}
		case *syntax.Assign:
			if n.Index != nil && next == n.Index || n.Name != nil && isEvaluated(n.Name.Value, r.assigns) {
				return true
			}
		case *syntax.ArrayElem:
			if n.Index != nil && next == n.Index {
				return true
			}
		case *syntax.WordIter:
			if isEvaluated(n.Name.Value, r.assigns) {
				return true
			}
		case *syntax.DeclClause: // a value assigned to an array may be a list, even in quotes
			if n.Variant.Value != "export" || slices.ContainsFunc(n.Args, func(a *syntax.Assign) bool { return a.Name == nil }) {
				return true
			}
		case *syntax.CallExpr:
			if next != nil && evaluates(n, next, r.stand) {
				return true
			}
		case *syntax.ParamExp, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.ExtGlob, *syntax.BraceExp,
			*syntax.TestClause, *syntax.CStyleLoop:
			return true
		}
	}
	return false
}

// singleQuoted returns text as a word, or a part of one.
func singleQuoted(text string) string { return "'" + inSingleQuotes(text) + "'" }

// inSingleQuotes returns text within single quotes.
func inSingleQuotes(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }

// inDoubleQuotes returns text within double quotes.
func inDoubleQuotes(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(text)
}

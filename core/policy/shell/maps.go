package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// findMaps records which variables of a text are certainly associative arrays,
// and from which position on: those that a statement declares before any other
// use.
func (a *analysis) findMaps(f *syntax.File) {
	a.mapped = nil
	for _, s := range f.Stmts {
		d, ok := s.Cmd.(*syntax.DeclClause)
		if !ok || len(s.Redirs) > 0 || s.Background || s.Coprocess || !hasOption(d, 'A') || strings.Contains(a.source, "unset") {
			continue
		}
		for _, arg := range d.Args {
			if arg.Name == nil || len(a.vars[arg.Name.Value]) > 0 || declarations(f, arg.Name.Value) > 1 {
				continue
			}
			if a.mapped == nil {
				a.mapped = map[string]int{}
			}
			a.mapped[arg.Name.Value] = int(d.Pos().Offset())
		}
	}
	for name, behind := range a.mapped {
		if assignedBefore(f, name, uint(behind)) {
			delete(a.mapped, name)
		}
	}
}

// hasOption reports whether a declaration has an option, in static words of
// options.
func hasOption(d *syntax.DeclClause, letter byte) bool {
	found := false
	for _, arg := range d.Args {
		if arg.Name != nil || arg.Value == nil {
			continue
		}
		text, ok := fixedText(arg.Value)
		if !ok || strings.ContainsAny(text, "n+") {
			return false
		}
		found = found || strings.HasPrefix(text, "-") && strings.IndexByte(text, letter) > 0
	}
	return found
}

// evaluatesValues reports whether a declaration makes bash evaluate the values of
// its variables.
func evaluatesValues(d *syntax.DeclClause) bool {
	for _, arg := range d.Args {
		if arg.Name != nil || arg.Value == nil {
			continue
		}
		if text, ok := fixedText(arg.Value); !ok || strings.HasPrefix(text, "-") && strings.Contains(text, "i") {
			return true
		}
	}
	return false
}

// declarations counts the declarations of a variable.
func declarations(f *syntax.File, name string) int {
	n := 0
	syntax.Walk(f, func(node syntax.Node) bool {
		if d, ok := node.(*syntax.DeclClause); ok {
			for _, arg := range d.Args {
				if arg.Name != nil && arg.Name.Value == name {
					n++
				}
			}
		}
		return true
	})
	return n
}

// assignedBefore reports whether a variable is assigned before a position in a
// text, or by a command that names it.
func assignedBefore(f *syntax.File, name string, place uint) bool {
	found := false
	syntax.Walk(f, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Assign:
			found = found || n.Name != nil && n.Name.Value == name && n.Pos().Offset() < place
		case *syntax.CallExpr:
			for _, w := range n.Args {
				found = found || plainText(w) == name
			}
		}
		return !found
	})
	return found
}

package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// scan scans a text before it is walked, for constructs that matter in any
// position: assignments, functions, arithmetic.
func (a *analysis) scan(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		a.scanSetters(n)
		switch n := n.(type) {
		case *syntax.Assign:
			a.scanAssign(n)
		case *syntax.ForClause:
			if it, ok := n.Loop.(*syntax.WordIter); ok {
				for _, w := range it.Items {
					a.assign(it.Name.Value, w)
					a.scanValue(w)
				}
			}
		case *syntax.CStyleLoop:
			a.scanArithmetic(n)
		case *syntax.ParamExp:
			a.expandsVariable(n)
			if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) && n.Param != nil {
				a.assign(n.Param.Value, n.Exp.Word)
				a.scanValue(n.Exp.Word)
			}
			if n.Excl && n.Names == 0 && n.Param != nil && !isKeys(n) {
				a.naming(n, facts{reads: []string{n.Param.Value}})
			}
			if n.Index != nil && n.Param != nil {
				a.array(n.Param.Value)
			}
			if n.Index != nil && !wholeArray(n.Index) {
				a.scanSubscript(n.Param, n.Index, !n.Dollar.IsValid())
			}
			if n.Slice != nil && n.Slice.Offset != nil {
				a.scanArithmetic(n.Slice.Offset)
			}
			if n.Slice != nil && n.Slice.Length != nil {
				a.scanArithmetic(n.Slice.Length)
			}
		case *syntax.FuncDecl:
			if n.Name != nil {
				a.given.functions = append(a.given.functions, n.Name.Value)
			}
			if n.Name != nil && slices.Contains([]string{"cd", "pushd", "popd"}, n.Name.Value) {
				a.setsDirs = true
			}
		case *syntax.CallExpr:
			a.scanCall(n)
		case *syntax.Redirect:
			a.scanRedirect(n)
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause:
			a.scanArithmetic(n)
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				a.scanArithmetic(n)
			}
		case *syntax.UnaryTest:
			if w, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar) {
				a.scanHazard(n)
				a.naming(n, a.partsFacts(w.Parts))
			}
		case *syntax.DeclClause:
			a.scanDecl(n)
		case *syntax.Word:
			a.scanWord(n)
		}
		return true
	})
}

// scanSubscript records a subscript, which bash evaluates unless the array is
// associative. In arithmetic it also evaluates that of an associative one.
func (a *analysis) scanSubscript(array *syntax.Lit, n syntax.Node, arithmetic bool) {
	behind, ok := 0, false
	if array != nil {
		behind, ok = a.mapped[array.Value]
	}
	if ok && !arithmetic && n.Pos().Offset() > uint(behind) {
		a.scanHazard(n)
		return
	}
	a.scanArithmetic(n)
}

// scanArithmetic records an expression that bash evaluates.
func (a *analysis) scanArithmetic(n syntax.Node) {
	a.expandsArithmetic(n)
	a.evaluated(n)
	a.scanHazard(n)
}

// scanHazard records a literal command in an expression that bash evaluates. It
// expands quoted text there as well.
func (a *analysis) scanHazard(n syntax.Node) {
	a.evaluates = true
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false // a text of its own
		case *syntax.Word:
			a.hazard = a.hazard || mayExpand(plainText(n))
		}
		return true
	})
}

func (a *analysis) scanAssign(n *syntax.Assign) {
	if n.Name == nil {
		return
	}
	name := n.Name.Value
	if n.Array != nil || n.Index != nil {
		a.array(name)
	}
	if n.Index != nil && !wholeArray(n.Index) {
		a.scanSubscript(n.Name, n.Index, false)
	}
	a.assign(name, n.Value)
	a.scanValue(n.Value)
	if n.Array != nil {
		for _, e := range n.Array.Elems {
			a.assign(name, e.Value)
			a.scanValue(e.Value)
			if e.Index != nil {
				a.scanSubscript(n.Name, e.Index, false)
			}
		}
	}
}

// scanCall records the assignments of a simple command, and whether it may change
// the directory.
func (a *analysis) scanCall(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	a.moves = a.moves || callMoves(c)
	a.scanGiven(c)
	switch c.Args[0].Lit() {
	case "set":
		for i, w := range c.Args[1:] {
			if w.Lit() != "--" {
				continue
			}
			a.positional(c.Args[i+2:])
			break
		}
	case "printf":
		if len(c.Args) > 3 && c.Args[1].Lit() == "-v" {
			a.evaluates = true
			for _, v := range c.Args[3:] {
				a.assign(c.Args[2].Lit(), v)
				a.scanValue(v)
			}
		}
	case "test", "[":
		for _, w := range c.Args[1:] {
			a.evaluates = a.evaluates || w.Lit() == "-v" || w.Lit() == "-R"
		}
	}
}

// positional records the positional parameters that set assigns: each, and all as
// one text.
func (a *analysis) positional(words []*syntax.Word) {
	all := &syntax.Word{}
	for i, w := range words {
		if i < 9 {
			a.assign(string(rune('1'+i)), w)
		}
		if i > 0 {
			all.Parts = append(all.Parts, &syntax.SglQuoted{Value: " "})
		}
		all.Parts = append(all.Parts, w.Parts...)
		a.scanValue(w)
	}
	a.assign("@", all)
	a.assign("*", all)
}

func (a *analysis) scanRedirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.RdrIn, syntax.DplIn, syntax.RdrInOut:
		a.readsFD = a.readsFD || r.N != nil
	case syntax.WordHdoc:
		a.scanValue(r.Word)
		a.given.texts = appendNew(a.given.texts, optionsIn(plainText(r.Word))...)
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil {
			a.hazard = a.hazard || subscriptRuns(a.written(r.Hdoc))
			a.given.texts = appendNew(a.given.texts, optionsIn(a.written(r.Hdoc))...)
		}
	}
}

func (a *analysis) scanDecl(d *syntax.DeclClause) {
	if evaluatesValues(d) {
		var names []string
		for _, arg := range d.Args {
			if arg.Name != nil {
				names = append(names, arg.Name.Value)
			}
		}
		a.evaluations = append(a.evaluations, evaluation{sc: a.at, text: a.written(d), source: a.source, facts: facts{reads: names}})
	}
	for _, arg := range d.Args {
		if arg.Name == nil && arg.Value != nil {
			option := plainText(arg.Value)
			a.evaluates = a.evaluates || strings.HasPrefix(option, "-") && strings.ContainsAny(option, "in")
		}
	}
	a.evaluates = a.evaluates || d.Variant.Value == "nameref"
}

// scanValue records values with commands that an evaluation would run, because a
// dollar or backquote in them was quoted, whole or in pieces.
func (a *analysis) scanValue(w *syntax.Word) {
	if w == nil {
		return
	}
	for _, p := range w.Parts {
		for _, text := range quotedTexts(p) {
			a.endsDollar = a.endsDollar || strings.HasSuffix(text, "$")
			a.hazard = a.hazard || strings.Contains(text, "$(") || strings.Contains(text, "${") || strings.Contains(text, "`")
			a.beginsParen = a.beginsParen || strings.HasPrefix(text, "(") || strings.HasPrefix(text, "{")
		}
	}
	a.hazard = a.hazard || a.endsDollar && a.beginsParen
}

// scanWord records a word with a subscript that contains a command.
func (a *analysis) scanWord(w *syntax.Word) {
	a.arrayNames(w)
	if a.hazard {
		return
	}
	for _, p := range w.Parts {
		for _, text := range quotedTexts(p) {
			a.hazard = a.hazard || subscriptRuns(text)
		}
	}
}

// quotedTexts returns the texts in a piece of a word that its quotes protect from
// expansion.
func quotedTexts(p syntax.WordPart) []string {
	switch p := p.(type) {
	case *syntax.SglQuoted:
		if p.Dollar {
			return []string{unescapeANSI(p.Value)}
		}
		return []string{p.Value}
	case *syntax.DblQuoted:
		var out []string
		for _, q := range p.Parts {
			if lit, ok := q.(*syntax.Lit); ok {
				out = append(out, unescapeDouble(lit.Value))
			}
		}
		return out
	case *syntax.Lit:
		if strings.Contains(p.Value, `\`) {
			return []string{strings.ReplaceAll(p.Value, `\`, "")}
		}
	}
	return nil
}

// subscriptRuns reports whether text, evaluated as an arithmetic expression,
// could run a command: name[…$(…)…].
func subscriptRuns(s string) bool {
	for {
		open := strings.IndexByte(s, '[')
		if open < 0 {
			return false
		}
		if open > 0 && isNameByte(s[open-1]) && mayExpand(s[open:]) {
			return true
		}
		s = s[open+1:]
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// mayExpand reports whether text that bash expands could run a command.
func mayExpand(s string) bool {
	return strings.ContainsAny(s, "`") || strings.Contains(s, "$(") || strings.Contains(s, "${") ||
		strings.Contains(s, "<(") || strings.Contains(s, ">(")
}

func wholeArray(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*" || isDigits(w.Lit()))
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// mayMove reports whether walking a node may change the directory.
func mayMove(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			found = found || callMoves(n)
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		}
		return !found
	})
	return found
}

func callMoves(c *syntax.CallExpr) bool {
	if len(c.Args) == 0 {
		return false
	}
	args := c.Args
	for len(args) > 1 && (args[0].Lit() == "command" || args[0].Lit() == "builtin") {
		args = args[1:]
	}
	switch args[0].Lit() {
	case "cd", "pushd", "popd", "eval", "source", ".", "jobs", "":
		return true
	}
	return strings.ContainsAny(args[0].Lit(), `\{`)
}

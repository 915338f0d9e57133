package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxCertain is the maximum number of certain values of one word.
const maxCertain = 64

// topMark surrounds the directory in a value that begins with the top directory of
// its git repository.
const topMark = "\x00"

// setters lists builtins that may change the variables that their words name.
const setters = "read mapfile readarray getopts unset wait local declare typeset export readonly printf"

// looseners lists builtins after which any variable may have changed.
const looseners = "eval source . trap let alias unalias enable"

// scanSetters records variables that receive values other than those of plain
// assignments and loops.
func (a *analysis) scanSetters(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Assign:
		if n.Name != nil && (n.Append || n.Value == nil || n.Array != nil || n.Index != nil) {
			a.loose[n.Name.Value] = true
		}
	case *syntax.DeclClause:
		a.looseDeclaration(n)
	case *syntax.ForClause:
		if it, ok := n.Loop.(*syntax.WordIter); ok && (n.Select || !it.InPos.IsValid()) {
			a.loose[it.Name.Value] = true
		}
	case *syntax.BinaryArithm:
		if strings.HasSuffix(n.Op.String(), "=") && !slices.Contains([]string{"==", "!=", "<=", ">="}, n.Op.String()) {
			a.looseName(n.X)
		}
	case *syntax.UnaryArithm:
		if n.Op == syntax.Inc || n.Op == syntax.Dec {
			a.looseName(n.X)
		}
	case *syntax.Redirect:
		a.looseAll = a.looseAll || n.N != nil && strings.HasPrefix(n.N.Value, "{")
	case *syntax.CoprocClause:
		a.looseAll = true
	case *syntax.CallExpr:
		a.looseCall(n)
	}
}

func (a *analysis) looseName(x syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
		a.loose[w.Lit()] = true
		return
	}
	a.looseAll = true
}

func (a *analysis) looseDeclaration(d *syntax.DeclClause) {
	keeps := d.Variant.Value == "export" || d.Variant.Value == "readonly"
	a.looseAll = a.looseAll || d.Variant.Value == "nameref"
	for _, as := range d.Args {
		switch {
		case as.Name != nil && (!keeps || as.Array != nil):
			a.loose[as.Name.Value] = true
		case as.Name == nil && (as.Value == nil || !keeps || as.Value.Lit() != "-x"):
			a.looseAll = true
		}
	}
}

func (a *analysis) looseCall(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	name := c.Args[0].Lit()
	switch {
	case name == "" || strings.ContainsAny(name, `\{*?[~`) || in(looseners, name):
		a.looseAll = true
	case name == "command" || name == "builtin":
		for _, w := range c.Args[1:] {
			a.looseAll = a.looseAll || w.Lit() == "" || in(setters+" "+looseners, w.Lit())
		}
	case name == "printf":
		if option, ok := fixedText(c.Args[min(1, len(c.Args)-1)]); ok && !strings.HasPrefix(option, "-v") {
			return
		}
		a.looseAll = true
	case in(setters, name):
		for _, w := range c.Args[1:] {
			text, _, _ := strings.Cut(w.Lit(), "=")
			if text, _, _ = strings.Cut(text, "["); text == "" {
				a.looseAll = true
			}
			a.loose[text] = true
		}
	}
}

// isSet reports whether a variable certainly has one of the values that the line
// assigns to it, at the current position.
func (a *analysis) isSet(name string) bool {
	return a.now != nil && !a.looseAll && !a.loose[name] && slices.Contains(a.now.set, name) && !slices.Contains(bashSets, name) && effectOf(name) != evaluated && !strings.HasPrefix(name, "BASH")
}

// certainValues returns all possible values of a variable at the current position;
// nil: unknown.
func (a *analysis) certainValues(p *syntax.ParamExp) []string {
	if p.Param == nil || p.Length || p.Width || p.Excl || p.Names != 0 || p.Slice != nil || p.Repl != nil || p.Index != nil || p.Exp != nil || !a.isSet(p.Param.Value) || a.following >= maxReferences {
		return nil
	}
	a.following++
	defer func() { a.following-- }()
	var out []string
	for _, w := range a.vars[p.Param.Value] {
		if !a.step(a.written(w)) {
			return nil
		}
		if values, ok := a.valued[w]; ok {
			out = appendNew(out, values...)
			continue
		}
		for _, v := range append(a.words([]*syntax.Word{w}), a.value(w)) {
			if !v.Static || v.home {
				return nil
			}
			out = appendNew(out, v.Text)
		}
	}
	if len(out) > maxCertain {
		return nil
	}
	return out
}

// assignedHere records that a variable is set from now on.
func (a *analysis) assignedHere(sc *scope, as *syntax.Assign) {
	if as.Name == nil || as.Append || as.Array != nil || as.Index != nil {
		return
	}
	if as.Value != nil {
		if v := a.value(as.Value); v.certain != nil {
			a.valued[as.Value] = v.certain
		}
	}
	sc.set = append(slices.Clip(sc.set), as.Name.Value)
}

// certainOutput returns all possible outputs of a substitution: a static text,
// the directory or the name of a known path, or the top directory of a repository.
func (a *analysis) certainOutput(list []*syntax.Stmt) []string {
	if texts := a.output(list); texts != nil && len(a.given.functions) == 0 && !a.looseAll && !strings.Contains(texts[0], `\`) {
		return texts
	}
	if len(list) != 1 || a.following >= maxReferences || list[0].Negated || list[0].Background {
		return nil
	}
	call, ok := list[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) < 2 || slices.Contains(a.given.functions, call.Args[0].Lit()) || a.looseAll {
		return nil
	}
	for _, r := range list[0].Redirs {
		if r.N == nil || r.N.Value != "2" || r.Op != syntax.RdrOut || r.Word.Lit() != "/dev/null" {
			return nil
		}
	}
	if name := call.Args[0].Lit(); name == "git" {
		return a.topLevels(call)
	} else if name != "dirname" && name != "basename" {
		return nil
	}
	a.following++
	defer func() { a.following-- }()
	ws := a.words(call.Args)
	if ws[1].is("--") {
		ws = slices.Delete(ws, 1, 2)
	}
	if len(ws) != 2 || ws[1].home {
		return nil
	}
	values := ws[1].certain
	if ws[1].Static {
		values = []string{ws[1].Text}
	}
	var out []string
	for _, v := range values {
		if v == "" || v[0] == '-' || strings.ContainsAny(v, topMark+"\n") {
			return nil
		}
		out = appendNew(out, cutPath(v, ws[0].is("dirname")))
	}
	return out
}

// cutPath returns the directory or the name of a path, as dirname and basename do.
func cutPath(path string, dir bool) string {
	short := strings.TrimRight(path, "/")
	at := strings.LastIndexByte(short, '/')
	switch {
	case short == "":
		return "/"
	case !dir:
		return short[at+1:]
	case at < 0:
		return "."
	}
	if short = strings.TrimRight(short[:at], "/"); short == "" {
		return "/"
	}
	return short
}

// topLevels returns the top directories of the repositories of the current
// directories for git rev-parse --show-toplevel.
func (a *analysis) topLevels(call *syntax.CallExpr) []string {
	if a.now == nil || len(call.Args) != 3 || call.Args[1].Lit() != "rev-parse" || call.Args[2].Lit() != "--show-toplevel" || a.now.dirs.below != "" {
		return nil
	}
	var out []string
	for _, dir := range a.now.dirs.repository() {
		out = append(out, topMark+dir+topMark)
	}
	return out
}

// certainFolders returns the directories that cd changes to for all values of a
// word; false if they are unknown.
func (f dirSet) certainFolders(values []string) (dirSet, bool) {
	var to dirSet
	for i, v := range values {
		var next dirSet
		rest, top := strings.CutPrefix(v, topMark)
		switch {
		case v == "" || v[0] == '-' || v[0] == '+' || v[0] == '~':
			return dirSet{}, false
		case top:
			dir, below, _ := strings.Cut(rest, topMark)
			next = dirSet{repo: []string{dir}}
			if below = strings.TrimLeft(below, "/"); below != "" {
				next = next.moved(below)
			}
		case f.lost() && f.repo == nil && v[0] != '/':
			return dirSet{}, false
		default:
			next = f.moved(v)
		}
		if i > 0 {
			next = to.union(next)
		}
		if to = next; to.lost() && to.repo == nil {
			return dirSet{}, false
		}
	}
	return to, len(values) > 0
}

// isNumeric reports whether a variable certainly is a number at the current
// position.
func (a *analysis) isNumeric(name string) bool {
	return a.isSet(name) && !slices.ContainsFunc(a.vars[name], func(w *syntax.Word) bool { return !a.step(a.written(w)) || !a.isNumericWord(w) })
}

func (a *analysis) isNumericWord(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if !isDigits(p.Value) {
				return false
			}
		case *syntax.SglQuoted:
			if !isDigits(p.Value) {
				return false
			}
		case *syntax.DblQuoted:
			if !a.isNumericWord(&syntax.Word{Parts: p.Parts}) {
				return false
			}
		case *syntax.ArithmExp:
		case *syntax.CmdSubst:
			if !a.printsNumber(p.Stmts) {
				return false
			}
		default:
			return false
		}
	}
	return len(w.Parts) > 0
}

// printsNumber reports whether commands print numbers only, at least one.
func (a *analysis) printsNumber(list []*syntax.Stmt) bool {
	if len(list) != 1 || a.outputFacts(list).unknown {
		return false
	}
	s := list[0]
	for {
		pipe, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || pipe.Op != syntax.Pipe {
			break
		}
		s = pipe.Y
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(s.Redirs) > 1 || len(s.Redirs) == 1 && s.Redirs[0].Op != syntax.RdrIn {
		return false
	}
	ws := a.fixedWords(call)
	switch ws[0] {
	case "wc", "nproc":
		return true
	case "seq":
		return !slices.ContainsFunc(ws[1:], func(s string) bool { return !isDigits(s) })
	case "grep", "egrep", "fgrep", "rg":
		return a.isCount(call.Args[1:], ws[1:], ws[0] == "rg")
	case "git":
		return len(ws) > 2 && ws[1] == "rev-list" && ws[2] == "--count"
	}
	return false
}

// extend appends a piece with all its values to those of the field.
func (c *field) extend(certain []string, split, otherwise bool) {
	if split && (otherwise || slices.ContainsFunc(certain, func(v string) bool { return v == "" || strings.ContainsAny(v, " \t\n*?[\\") })) {
		certain = nil
	}
	old := c.certain
	if !c.dynamic {
		old = []string{c.template.String()}
	}
	if c.unclear = c.unclear || len(certain) == 0 || len(old)*len(certain) > maxCertain; c.unclear {
		return
	}
	c.certain = make([]string, 0, len(old)*len(certain))
	for _, o := range old {
		for _, v := range certain {
			c.certain = append(c.certain, o+v)
		}
	}
}

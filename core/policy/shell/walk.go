package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// file walks a parsed text; its changes of directory stay in sc.
func (a *analysis) file(sc *scope, f *syntax.File, source string) {
	outer, at, mapped := a.source, a.at, a.mapped
	now := a.now
	a.source, a.at, a.now = source, sc, sc
	sc.set = nil
	defer func() { a.source, a.at, a.mapped, a.now = outer, at, mapped, now }()
	a.findMaps(f)
	hadHazard := a.evaluates && a.hazard
	a.scan(f)
	if a.evaluates && a.hazard && !hadHazard {
		a.unknown(sc, source, "arithmetic or an indirection may run a command in a value")
	}
	a.stmts(sc, f.Stmts)
}

func (a *analysis) stmts(sc *scope, list []*syntax.Stmt) {
	for _, s := range list {
		a.stmt(sc, s)
	}
}

func (a *analysis) stmt(sc *scope, s *syntax.Stmt) {
	at := sc
	if s.Background || s.Coprocess || s.Disown {
		at = sc.inside()
		at.again = true
	}
	now := a.now
	a.now = at
	defer func() { a.now = now }()
	index, ran, first := -1, len(a.ran), len(a.parts)
	at.success = at.dirs
	fed := at.fed
	if in := a.input(s.Redirs); in.given {
		at.fed = in
	}
	switch cmd := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		index = a.call(at, cmd, a.input(s.Redirs))
		a.spelled(index, s)
	case *syntax.DeclClause:
		index = a.declare(at, cmd)
	default:
		a.compound(at, cmd)
	}
	if s.Negated {
		at.success = at.dirs
	}
	a.redirected(s, first)
	if !redirectsShell(s) {
		at.fed = fed
	}
	a.redirects(at, s, index)
	if index >= 0 { // its substitutions and redirections come first
		for i := ran; i < len(a.ran); i++ {
			a.ran[i].before = len(a.wrote)
		}
	}
}

// redirectsShell reports whether a statement is exec without a command, whose
// redirections apply to later commands.
func redirectsShell(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) > 0 && call.Args[0].Lit() == "exec"
}

// compound walks commands that consist of other commands.
func (a *analysis) compound(sc *scope, cmd syntax.Command) {
	switch cmd := cmd.(type) {
	case *syntax.Block:
		a.stmts(sc, cmd.Stmts)
	case *syntax.Subshell:
		a.stmts(sc.inside(), cmd.Stmts)
	case *syntax.BinaryCmd:
		a.binary(sc, cmd)
	case *syntax.IfClause:
		a.branches(sc, cmd)
	case *syntax.WhileClause:
		a.loop(sc, cmd, func(sc *scope) {
			a.stmts(sc, cmd.Cond)
			a.stmts(sc, cmd.Do)
		})
	case *syntax.ForClause:
		a.substitutions(sc, cmd.Loop)
		if it, ok := cmd.Loop.(*syntax.WordIter); ok {
			for _, w := range a.words(it.Items) {
				a.assigned(sc, it.Name.Value, w)
			}
			if !it.InPos.IsValid() || cmd.Select { // the positional parameters, or the input
				a.named(sc, it.Name.Value)
			}
		}
		a.loop(sc, cmd, func(sc *scope) {
			if it, ok := cmd.Loop.(*syntax.WordIter); ok {
				sc.set = append(slices.Clip(sc.set), it.Name.Value)
			}
			a.stmts(sc, cmd.Do)
		})
	case *syntax.CaseClause:
		a.cases(sc, cmd)
	case *syntax.FuncDecl:
		a.function(sc, cmd)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			a.stmt(sc, cmd.Stmt)
			a.timeProgram(sc, cmd.Stmt)
		}
	case *syntax.CoprocClause:
		at := sc.inside()
		at.again, at.fed = true, input{given: true}
		if cmd.Name != nil {
			a.named(sc, a.value(cmd.Name).template)
		}
		a.stmt(at, cmd.Stmt)
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
		a.substitutions(sc, cmd)
		sc.success = sc.dirs
	default:
		a.unknown(sc, a.written(cmd), "this kind of command is not supported")
	}
}

func (a *analysis) binary(sc *scope, cmd *syntax.BinaryCmd) {
	switch cmd.Op {
	case syntax.AndStmt:
		a.stmt(sc, cmd.X)
		all := sc.dirs
		sc.dirs = sc.success
		right := sc.inside()
		a.stmt(right, cmd.Y)
		sc.went(all.union(right.dirs), right.success)
	case syntax.OrStmt:
		a.stmt(sc, cmd.X)
		success := sc.success
		right := sc.inside()
		a.stmt(right, cmd.Y)
		if leaves(cmd.Y) {
			sc.went(success, success)
		} else {
			sc.went(success.union(right.dirs), success.union(right.success))
		}
	default: // a pipe: each side is a shell of its own
		a.pipe(sc, cmd)
	}
}

// timeProgram adds the program of that name if a shell other than bash would run
// it: with an option, time is not a keyword there.
func (a *analysis) timeProgram(sc *scope, s *syntax.Stmt) {
	if call, ok := s.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && strings.HasPrefix(call.Args[0].Lit(), "-") {
		a.command(sc, append([]arg{known("time")}, a.words(call.Args)...), input{})
	}
}

// leaves reports whether a statement certainly ends the shell.
func leaves(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	return ok && !s.Background && len(call.Args) > 0 && call.Args[0].Lit() == "exit"
}

func (a *analysis) branches(sc *scope, c *syntax.IfClause) {
	inner := sc.inside()
	a.stmts(inner, c.Cond)
	then := inner.inside()
	a.stmts(then, c.Then)
	end := inner.dirs.union(then.dirs)
	if c.Else != nil {
		other := inner.inside()
		if len(c.Else.Cond) > 0 {
			a.branches(other, c.Else)
		} else {
			a.stmts(other, c.Else.Then)
		}
		end = then.dirs.union(other.dirs)
	}
	sc.went(end, end)
}

func (a *analysis) cases(sc *scope, c *syntax.CaseClause) {
	a.substitutions(sc, c.Word)
	end := sc.dirs
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			a.substitutions(sc, p)
		}
		branch := sc.inside()
		if item.Op != syntax.Break { // ;& and ;;& continue with the next one
			branch.dirs = end
		}
		a.stmts(branch, item.Stmts)
		end = end.union(branch.dirs)
		if item.Op != syntax.Break {
			sc.dirs = end
		}
	}
	sc.went(end, end)
}

// loop walks a body that may run any number of times: if it changes the
// directory, that of each iteration is unknown.
func (a *analysis) loop(sc *scope, cmd syntax.Node, body func(*scope)) {
	if mayMove(cmd) {
		sc.dirs = dirSet{}
	}
	inner := sc.inside()
	inner.again = true
	body(inner)
	sc.went(sc.dirs, sc.dirs)
}

// function walks a body where it is defined, so that calls of it need not be
// walked.
func (a *analysis) function(sc *scope, f *syntax.FuncDecl) {
	body := sc.inside()
	body.again, body.fed = true, input{given: true} // the input of its callers is unknown
	if a.moves {
		body.dirs = dirSet{}
	}
	if f.Name != nil && sc.top {
		a.functions[f.Name.Value] = true
	}
	a.stmt(body, f.Body)
	if mayMove(f.Body) {
		sc.dirs = dirSet{}
	}
	sc.success = sc.dirs
}

// substitutions walks the commands inside of a node's words.
func (a *analysis) substitutions(sc *scope, n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.ReplyVar || n.TempFile {
				a.unknown(sc, a.written(n), "this kind of substitution is not supported")
			}
			a.stmts(sc.inside(), n.Stmts)
			return false
		case *syntax.ProcSubst:
			at := sc.inside()
			if n.Op == syntax.CmdOut { // the input of the command
				at.fed = input{given: true}
			}
			a.stmts(at, n.Stmts)
			return false
		case *syntax.ParamExp:
			if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word.Lit() == "P" {
				a.unknown(sc, a.written(n), "a prompt expansion may run commands in a value")
			}
			if n.Exp != nil && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				a.assigned(sc, n.Param.Value, a.value(n.Exp.Word))
			}
		case *syntax.BinaryArithm:
			a.assignedNumber(sc, n.X, n)
		case *syntax.UnaryArithm:
			a.assignedNumber(sc, n.X, n)
		case *syntax.DblQuoted:
			a.quotesInQuotes(sc, n)
		case *syntax.Redirect:
			if n.Hdoc != nil {
				a.quotesInQuotes(sc, n.Hdoc)
			}
		case *syntax.ExtGlob:
			if mayExpand(n.Pattern.Value) {
				a.unknown(sc, a.written(n), "the pattern may run commands")
			}
		}
		return true
	})
}

// quotesInQuotes asks about single quotes in an expansion that is itself in
// double quotes or in a here-document: bash reads most of them as plain
// characters, the parser as quotes.
func (a *analysis) quotesInQuotes(sc *scope, n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.SglQuoted:
			if strings.ContainsAny(n.Value, "$`}\"\\") {
				a.unknown(sc, a.written(n), "bash may parse these quotes differently")
			}
		}
		return true
	})
}

package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// expansion is an expansion of a variable.
type expansion struct {
	name string
	// own states that the value is the environment's even if the line sets the
	// variable somewhere, as in ${X:=y}.
	own bool
}

// expandsVariable records an expansion.
func (a *analysis) expandsVariable(p *syntax.ParamExp) {
	switch {
	case p.Param == nil, p.Excl && !isKeys(p):
		a.expands = append(a.expands, expansion{name: "!", own: true})
	case isDigits(p.Param.Value), !syntax.ValidName(p.Param.Value):
	default:
		own := p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull)
		a.expands = append(a.expands, expansion{p.Param.Value, own})
	}
}

// expandsArithmetic records the variables whose values arithmetic uses: bash
// shows a value that is no number in its message.
func (a *analysis) expandsArithmetic(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false // the words of commands are no variables
		case *syntax.Word:
			if syntax.ValidName(n.Lit()) {
				a.expands = append(a.expands, expansion{name: n.Lit()})
			}
		}
		return true
	})
}

// environment returns the names of variables whose values come from the
// environment.
func (a *analysis) environment() []string {
	var names []string
	for _, e := range a.expands {
		if (e.own || a.values[e.name] == nil) && !slices.Contains(names, e.name) {
			names = append(names, e.name)
		}
	}
	return names
}

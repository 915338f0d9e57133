package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// evaluators lists the builtins of bash that run an argument, or the subscript of
// a name in one, whatever its quotes. printf and test do so only with an option,
// see [evaluates].
var evaluators = []string{
	"alias", "bind", "compgen", "complete", "declare", "enable", "eval", "export", "fc", "getopts", "let", "local", "mapfile", "read", "readarray",
	"readonly", "trap", "typeset", "unset", "wait",
}

// evaluatedNames lists variables whose values bash runs by itself, in addition to
// all that begin with BASH and those whose [effect] is evaluated.
var evaluatedNames = []string{"ENV", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4"}

// evaluates reports whether bash runs a part of word, an argument of call, if
// stand is replaced by arbitrary text.
func evaluates(call *syntax.CallExpr, word syntax.Node, stand string) bool {
	args := builtinCall(call.Args)
	at := slices.IndexFunc(args, func(w *syntax.Word) bool { return w == word })
	if at < 1 {
		return false // an assignment before the command, or its name
	}
	switch name := static(args[0]); name {
	case "printf": // with -v NAME, or -vNAME, it assigns
		first, _, _ := strings.Cut(newAnalysis("").value(args[1]).head, stand)
		return first == "" || first[0] == '-' && static(args[1]) != "--"
	case "test", "[":
		return slices.ContainsFunc(args[1:], func(w *syntax.Word) bool { s := static(w); return s == "-v" || s == "-R" })
	default:
		return slices.Contains(evaluators, name)
	}
}

// sources reports whether a call reads a file as a program.
func sources(call *syntax.CallExpr) bool {
	args := builtinCall(call.Args)
	return len(args) > 0 && slices.Contains([]string{"source", "."}, static(args[0]))
}

// builtinCall returns the words of a call from the name that follows "builtin" or
// "command" and their options.
func builtinCall(args []*syntax.Word) []*syntax.Word {
	for len(args) > 1 && slices.Contains([]string{"builtin", "command"}, static(args[0])) {
		args = args[1:]
		for len(args) > 1 && strings.HasPrefix(static(args[0]), "-") {
			args = args[1:]
		}
	}
	return args
}

// static returns the first field of a word's expansion; "" if that is not fixed.
func static(w *syntax.Word) string {
	if ws := newAnalysis("").words([]*syntax.Word{w}); len(ws) > 0 && ws[0].Static {
		return ws[0].Text
	}
	return ""
}

// assigners returns the names of a program's variables whose values bash
// evaluates on assignment: those declared with -i or -n.
func assigners(file *syntax.File) map[string]bool {
	names := make(map[string]bool)
	syntax.Walk(file, func(n syntax.Node) bool {
		d, ok := n.(*syntax.DeclClause)
		if !ok {
			return true
		}
		if d.Variant.Value == "nameref" || slices.ContainsFunc(d.Args, computes) {
			for _, a := range d.Args {
				if a.Name != nil {
					names[a.Name.Value] = true
				}
			}
		}
		return true
	})
	return names
}

// computes reports whether an argument of a declaration is, or may be, an option
// that makes bash evaluate values.
func computes(a *syntax.Assign) bool {
	if a.Name != nil || a.Value == nil {
		return false
	}
	option := static(a.Value)
	return option == "" || option[0] == '-' && strings.ContainsAny(option, "in")
}

// isEvaluated reports whether bash evaluates, or runs, the value assigned to a
// name.
func isEvaluated(name string, assigns map[string]bool) bool {
	return assigns[name] || strings.HasPrefix(name, "BASH") || slices.Contains(evaluatedNames, name) || effectOf(name) == evaluated
}

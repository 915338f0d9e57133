package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxReferences is the maximum number of variables followed from one to the next.
const maxReferences = 4

// assign records that a variable may receive the value of a word.
func (a *analysis) assign(name string, w *syntax.Word) {
	if w != nil {
		a.vars[name] = append(a.vars[name], w)
	}
}

// valuesOf returns the values that the line assigns to a variable anywhere.
func (a *analysis) valuesOf(name string) []string {
	words := a.vars[name]
	given := a.givenTo(name)
	if len(words) == 0 {
		return given
	}
	if a.following >= maxReferences {
		return nil
	}
	a.following++
	defer func() { a.following-- }()
	out := slices.Clone(given)
	for _, w := range words {
		if !a.step(a.written(w)) {
			return nil
		}
		for _, v := range a.words([]*syntax.Word{w}) {
			if v.Static {
				out = appendNew(out, v.Text)
			}
			out = appendNew(out, v.values...)
		}
		if v := a.value(w); v.Static {
			out = appendNew(out, v.Text)
		}
	}
	if len(out) > maxCandidates { // options matter more than other values
		options := slices.DeleteFunc(slices.Clone(out), func(v string) bool { return !strings.HasPrefix(v, "-") })
		out = append(options, out...)[:maxCandidates]
	}
	return out
}

func appendNew(list []string, values ...string) []string {
	for _, v := range values {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// paramValues returns the possible values of an expansion.
func (a *analysis) paramValues(p *syntax.ParamExp) []string {
	if p.Param == nil || p.Length || p.Width || p.Names != 0 || p.Slice != nil || p.Repl != nil {
		return nil
	}
	var out []string
	if name := p.Param.Value; p.Exp == nil || !isAlternate(p.Exp.Op) {
		out = a.valuesOf(name)
	}
	if p.Excl {
		var all []string
		for _, name := range out {
			all = append(all, a.valuesOf(name)...)
		}
		return all
	}
	if p.Exp == nil {
		return out
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull,
		syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if v := a.value(p.Exp.Word); v.Static {
			out = append(out, v.Text)
		} else {
			out = append(out, v.values...)
		}
		return out
	}
	return nil
}

func isAlternate(op syntax.ParExpOperator) bool {
	return op == syntax.AlternateUnset || op == syntax.AlternateUnsetOrNull
}

// isNumber reports whether an expansion can only be a number.
func (a *analysis) isNumber(p *syntax.ParamExp) bool {
	if p.Length {
		return true
	}
	if p.Param == nil || p.Exp != nil || p.Excl || p.Repl != nil || p.Slice != nil {
		return false
	}
	switch p.Param.Value {
	case "#", "?", "$", "!":
		return true
	case "RANDOM", "SECONDS", "LINENO", "PPID", "UID", "EUID", "EPOCHSECONDS", "BASHPID", "SHLVL":
		return len(a.vars[p.Param.Value]) == 0
	}
	return a.isNumeric(p.Param.Value)
}

// isIFS reports whether an unquoted expansion only separates words.
func (a *analysis) isIFS(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Param.Value == "IFS" && !a.splitsElse &&
		!p.Excl && !p.Length && p.Exp == nil && p.Slice == nil && p.Repl == nil && p.Index == nil
}

// output returns the output of a command substitution that is one echo or printf
// of static words.
func (a *analysis) output(list []*syntax.Stmt) []string {
	if len(list) != 1 || a.following >= maxReferences {
		return nil
	}
	call, ok := list[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 || len(list[0].Redirs) > 0 || list[0].Negated {
		return nil
	}
	name := call.Args[0].Lit()
	if name != "echo" && name != "printf" || strings.Contains(a.source, "xpg_echo") { // with which echo reads escapes
		return nil
	}
	if !a.step(a.written(call)) {
		return nil
	}
	a.following++
	defer func() { a.following-- }()
	if text, ok := printedText(a.words(call.Args)); ok {
		return []string{strings.TrimRight(text, "\n")}
	}
	return nil
}

// printedText returns the output of echo or printf for static words.
func printedText(ws []arg) (string, bool) {
	var texts []string
	for _, w := range ws[1:] {
		if !w.Static {
			return "", false
		}
		texts = append(texts, w.Text)
	}
	switch {
	case ws[0].is("printf"):
		return printfText(texts)
	case !ws[0].is("echo"):
		return "", false
	}
	escapes, newline := false, "\n"
	for len(texts) > 0 && len(texts[0]) > 1 && texts[0][0] == '-' && strings.Trim(texts[0][1:], "neE") == "" {
		if strings.Contains(texts[0], "e") {
			escapes = true
		}
		if strings.Contains(texts[0], "n") {
			newline = ""
		}
		texts = texts[1:]
	}
	text := strings.Join(texts, " ")
	if escapes && longOctal(text) {
		return "", false
	}
	if escapes {
		text = unescapeANSI(text)
	}
	return text + newline, true
}

// longOctal reports whether a text has an escape of a zero and three more digits: one
// character for echo -e and %b, and two for [unescapeANSI].
func longOctal(s string) bool {
	for {
		at := strings.Index(s, `\0`)
		if at < 0 {
			return false
		}
		if s = s[at+2:]; len(s) > 2 && strings.Trim(s[:3], "01234567") == "" {
			return true
		}
	}
}

// printfText formats with %s, %b and %%; it reports false for other verbs.
func printfText(texts []string) (string, bool) {
	if len(texts) > 0 && texts[0] == "--" {
		texts = texts[1:]
	}
	if len(texts) == 0 || strings.HasPrefix(texts[0], "-") {
		return "", false
	}
	format, rest := texts[0], texts[1:]
	var b strings.Builder
	for {
		used := false
		for i := 0; i < len(format); i++ {
			if format[i] != '%' {
				b.WriteByte(format[i])
				continue
			}
			i++
			if i == len(format) {
				return "", false
			}
			next := ""
			if format[i] != '%' && len(rest) > 0 {
				next, rest, used = rest[0], rest[1:], true
			}
			switch format[i] {
			case '%':
				b.WriteByte('%')
			case 's':
				b.WriteString(strings.ReplaceAll(next, `\`, `\\`))
			case 'b':
				if longOctal(next) {
					return "", false
				}
				b.WriteString(next)
			default:
				return "", false
			}
		}
		if !used || len(rest) == 0 {
			return unescapeANSI(b.String()), true
		}
	}
}

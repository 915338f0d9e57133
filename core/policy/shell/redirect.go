package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// input is the source of a command's standard input, as far as it is known.
type input struct {
	given bool   // the command itself redirects it
	text  string // its content, if known
	known bool
}

// input returns a command's input: the text of a here-document or here-string, or
// something else.
func (a *analysis) input(redirs []*syntax.Redirect) input {
	var in input
	for _, r := range redirs {
		if r.N != nil && r.N.Value != "0" {
			continue
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			in = a.document(r)
		case syntax.WordHdoc:
			w := a.value(r.Word)
			in = input{given: true, text: w.Text + "\n", known: w.Static}
		case syntax.RdrIn, syntax.DplIn, syntax.RdrInOut:
			in = input{given: true}
		}
	}
	return in
}

// document resolves the body of a here-document.
func (a *analysis) document(r *syntax.Redirect) input {
	in := input{given: true, known: true}
	if r.Hdoc == nil {
		return in
	}
	literal := false
	for _, p := range r.Word.Parts {
		lit, ok := p.(*syntax.Lit)
		literal = literal || !ok || strings.Contains(lit.Value, `\`)
	}
	var b strings.Builder
	for _, p := range r.Hdoc.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			return input{given: true}
		}
		if literal {
			b.WriteString(lit.Value)
		} else {
			b.WriteString(strings.ReplaceAll(unescapeDouble(lit.Value), `\"`, `"`))
		}
	}
	in.text = b.String()
	if r.Op == syntax.DashHdoc {
		lines := strings.Split(in.text, "\n")
		for i, l := range lines {
			lines[i] = strings.TrimLeft(l, "\t")
		}
		in.text = strings.Join(lines, "\n")
	}
	return in
}

// redirects adds the files that a command's redirections write. index is the
// command's part; -1 for a group.
func (a *analysis) redirects(sc *scope, s *syntax.Stmt, index int) {
	if len(s.Redirs) == 0 {
		return
	}
	at := sc.under(sc.parent, sc.own)
	if index >= 0 {
		at = sc.under(index, len(a.parts[index].Words))
	}
	at.prints = a.prints(s)
	for _, r := range s.Redirs {
		a.redirect(at, sc, r)
		if word := a.wordBefore(s, r); strings.HasPrefix(word, "{") && strings.Contains(word, "[") {
			a.unknown(at, word, "bash reads it as the variable of a descriptor, and its subscript may run a command")
		}
	}
}

// wordBefore returns the word of a statement directly before a redirection,
// without a blank, as written.
func (a *analysis) wordBefore(s *syntax.Stmt, r *syntax.Redirect) string {
	at := r.Pos().Offset()
	if at > uint(len(a.source)) {
		return ""
	}
	if name, ok := variableOf(r); ok { // the parser recognizes it too
		if _, index, _ := strings.Cut(name, "["); isDigits(strings.TrimSuffix(index, "]")) {
			return ""
		}
		return r.N.Value
	}
	before := a.source[:at]
	for strings.HasSuffix(before, "\\\n") {
		before = before[:len(before)-2]
	}
	if !strings.HasSuffix(before, "}") {
		return ""
	}
	word := ""
	syntax.Walk(s, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && word == "" && w.Pos().Offset() < at && w.End().Offset() <= at && w.End().Offset() >= uint(len(before)) {
			word = strings.ReplaceAll(a.written(w), "\\\n", "")
		}
		return word == ""
	})
	return word
}

// spelled records a command as written.
func (a *analysis) spelled(index int, s *syntax.Stmt) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if index < 0 || index >= len(a.parts) || !ok || len(call.Args) == 0 {
		return
	}
	from, to := call.Args[0].Pos().Offset(), call.End().Offset()
	for _, r := range s.Redirs {
		to = max(to, r.End().Offset())
	}
	if from < to && to <= uint(len(a.source)) {
		a.parts[index].Raw = a.source[from:to]
	}
}

// redirected records the redirections of a statement in its parts, which are all
// from first on.
func (a *analysis) redirected(s *syntax.Stmt, first int) {
	var all []Redirect
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrIn, syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.DplOut, syntax.WordHdoc:
		default:
			continue
		}
		var w arg
		if r.Op == syntax.WordHdoc {
			w = a.value(r.Word)
		} else if w = a.one(r.Word); r.Op == syntax.DplOut && isDescriptor(w) || w.is("/dev/null") {
			continue
		}
		all = append(all, Redirect{Op: r.Op.String(), Word: w.Word})
	}
	if len(all) == 0 {
		return
	}
	for i := first; i < len(a.parts); i++ {
		a.parts[i].Redirects = append(a.parts[i].Redirects[:len(a.parts[i].Redirects):len(a.parts[i].Redirects)], all...)
	}
}

func (a *analysis) redirect(at, sc *scope, r *syntax.Redirect) {
	a.substitutions(sc, r)
	if name, ok := variableOf(r); ok {
		a.named(sc, name)
	}
	switch r.Op {
	case syntax.RdrIn:
		w := a.one(r.Word)
		if !(len(r.Word.Parts) == 1 && isProcess(r.Word.Parts[0])) {
			a.inputs = append(a.inputs, Input{Path: w.Word, Dirs: sc.dirs.list})
		}
		if isNetwork(w) {
			a.unknown(at, "< "+w.text(), "bash would open a network connection")
		}
	case syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		a.writes(at, a.target(r.Word))
	case syntax.DplOut:
		if w := a.target(r.Word); !isDescriptor(w) {
			a.writes(at, w)
		}
	case syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
	default:
		a.unknown(at, a.written(r), "this kind of redirection is not supported")
	}
}

// variableOf returns the variable that a redirection sets to the descriptor, as
// in {name}>file.
func variableOf(r *syntax.Redirect) (string, bool) {
	if r.N == nil || !strings.HasPrefix(r.N.Value, "{") {
		return "", false
	}
	return strings.Trim(r.N.Value, "{}"), true
}

// target resolves the target of a redirection. A process substitution is a pipe
// to a command that has parts of its own.
func (a *analysis) target(w *syntax.Word) arg {
	if len(w.Parts) == 1 && isProcess(w.Parts[0]) {
		return known("/dev/null")
	}
	return a.one(w)
}

// isProcess reports whether a piece of a word is a process substitution.
func isProcess(p syntax.WordPart) bool {
	_, ok := p.(*syntax.ProcSubst)
	return ok
}

// isDescriptor reports whether the target of >& is a descriptor: 2, 2- or -.
func isDescriptor(w arg) bool {
	if !w.Static {
		return w.number
	}
	return w.Text == "-" || isDigits(strings.TrimSuffix(w.Text, "-"))
}

func isNetwork(w arg) bool {
	values := w.values
	if w.Static {
		values = []string{w.Text}
	} else if w.head != "" {
		values = append(values, w.head)
	}
	for _, v := range values {
		if v = path.Clean(v) + "/"; strings.HasPrefix(v, "/dev/tcp/") || strings.HasPrefix(v, "/dev/udp/") {
			return true
		}
	}
	return false
}

// writes adds a file that is written, unless writing it changes nothing.
func (a *analysis) writes(sc *scope, file arg) {
	if isNetwork(file) {
		a.unknown(sc, "> "+file.text(), "bash would open a network connection")
		return
	}
	if file.Static && a.isHarmless(file.Text) {
		return
	}
	a.wroteFile(sc, file)
	a.add(sc, Part{Kind: Write, Text: "> " + file.text(), Path: file.Word})
}

// isHarmless reports whether a file is a device that only passes on its input, or
// drops it.
func (a *analysis) isHarmless(file string) bool {
	switch file = path.Clean(file); file {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2", "/dev/tty", "/dev/full", "/dev/zero":
		return true
	}
	// Others are reopened: one that is open for reading would be written.
	fd, ok := strings.CutPrefix(file, "/dev/fd/")
	return ok && isDigits(fd) && fd != "0" && !a.readsFD
}

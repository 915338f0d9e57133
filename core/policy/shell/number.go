package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// outputFacts returns the facts of the output of commands: for those that can
// only print numbers, or their own words, that it consists of these.
func (a *analysis) outputFacts(list []*syntax.Stmt) facts {
	if texts := a.output(list); texts != nil {
		return facts{texts: texts}
	}
	var f facts
	for _, s := range list {
		f = together(f, a.stmtFacts(s, facts{unknown: true}))
	}
	return f
}

// together returns the facts of two outputs, one after the other, where programs may
// have made other texts of their words.
func together(f, g facts) facts {
	pieces := len(f.texts)+len(f.reads) > 0
	f.add(g)
	f.start |= atText
	f.joins = f.joins || pieces && len(g.texts)+len(g.reads) > 0
	return f
}

// stmtFacts returns the facts of the output of a statement that reads a text with
// the facts in.
func (a *analysis) stmtFacts(s *syntax.Stmt, in facts) facts {
	anything := facts{unknown: true}
	if s.Cmd == nil || s.Background || s.Coprocess || !a.step("") {
		return anything
	}
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrIn, syntax.Hdoc, syntax.DashHdoc:
			in = anything
		case syntax.WordHdoc:
			in = a.partsFacts(r.Word.Parts)
		case syntax.DplOut:
			if r.Word.Lit() != "2" || r.N != nil && r.N.Value != "1" { // an error message may contain anything
				return anything
			}
		case syntax.RdrOut, syntax.AppOut:
		default:
			return anything
		}
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		return a.callFacts(cmd, in)
	case *syntax.Block:
		return a.outputFacts(cmd.Stmts)
	case *syntax.Subshell:
		return a.outputFacts(cmd.Stmts)
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.Pipe {
			left := a.stmtFacts(cmd.X, in)
			if y, ok := cmd.Y.Cmd.(*syntax.CallExpr); ok && left.unknown && a.countsFirst(cmd.X, y) {
				return facts{}
			}
			return a.stmtFacts(cmd.Y, left)
		}
		if cmd.Op == syntax.AndStmt || cmd.Op == syntax.OrStmt {
			return together(a.stmtFacts(cmd.X, in), a.stmtFacts(cmd.Y, in))
		}
	}
	return anything
}

// fixedWords returns the words of a call; "" for one that is not static.
func (a *analysis) fixedWords(c *syntax.CallExpr) []string {
	out := make([]string, len(c.Args))
	for i, w := range c.Args {
		if text, ok := fixedText(w); ok {
			out[i] = text
		}
	}
	if len(out) > 0 && slices.Contains(a.given.functions, out[0]) {
		out[0] = ""
	}
	return out
}

// fixedText returns the text of a word in which bash expands nothing.
func fixedText(w *syntax.Word) (string, bool) {
	for i, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, `*?[{`) || i == 0 && strings.HasPrefix(p.Value, "~") {
				return "", false
			}
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if _, ok := q.(*syntax.Lit); !ok {
					return "", false
				}
			}
		default:
			return "", false
		}
	}
	return plainText(w), true
}

// callFacts returns the facts of the output of a simple command.
func (a *analysis) callFacts(c *syntax.CallExpr, in facts) facts {
	anything := facts{unknown: true}
	ws := a.fixedWords(c)
	if len(ws) == 0 {
		return anything
	}
	args := ws[1:]
	switch ws[0] {
	case "true", "false", ":", "exit", "test", "[":
		return facts{}
	case "pwd", "realpath", "mktemp", "which":
		return facts{unknown: true, rooted: true}
	case "cd":
		if len(args) == 1 && args[0] != "" && args[0] != "-" {
			return facts{texts: args}
		}
	case "echo", "expr", "seq", "printf":
		return a.wordsFacts(ws[0], c.Args[1:], args)
	case "wc":
		if onlyOptions(args, "lcwmL", "--lines", "--words", "--bytes", "--chars") {
			return facts{}
		}
	case "nproc", "cat":
		if ws[0] == "nproc" || len(args) == 0 {
			return map[bool]facts{true: {}, false: in}[ws[0] == "nproc"]
		}
	case "tr":
		if len(args) > 0 && args[0] == "-d" {
			in.changed(anywhere)
			return in
		}
	case "sort", "uniq", "head", "tail":
		if onlyOptions(args, "nru0123456789", "-n", "1", "+2", "-r") {
			in.start |= afterLine
			return in
		}
	case "xargs":
		if onlyOptions(args, "nr0123456789", "-n", "1", "-r") {
			in.changed(anywhere) // it removes quotes
			return in
		}
	case "bc":
		if onlyOptions(args, "lq") {
			in.changed(anywhere) // it prints texts in quotes, and digits of other bases
			return in
		}
	case "date":
		return facts{unknown: !isNumericDate(args)}
	case "id":
		return facts{unknown: !onlyAmong(args, "-u -g -r -ur -gr -ru -rg --user --group --real") || onlyAmong(args, "")}
	case "stat":
		return statFacts(c.Args[1:], args)
	case "grep", "egrep", "fgrep", "rg":
		return facts{unknown: !a.isCount(c.Args[1:], args, ws[0] == "rg")}
	case "git":
		if len(args) > 1 && (args[0] == "merge-base" || args[0] == "rev-parse") && onlyRevisions(args[1:]) {
			f := facts{texts: []string{"hash"}, joins: true} // which may begin with a letter
			for _, w := range args[1:] {
				if args[0] == "rev-parse" && w[0] != '-' { // it prints words that are no revisions
					f.texts = append(f.texts, w)
				}
			}
			return f
		}
		switch {
		case slices.Contains(args, "") || len(args) < 2:
		case args[0] == "rev-parse" && onlyAmong(args[1:], "--show-toplevel --git-dir --absolute-git-dir --git-common-dir --quiet -q"):
			return facts{unknown: true, rooted: true}
		case args[0] == "rev-parse" && onlyAmong(args[1:], "--abbrev-ref --symbolic-full-name"),
			args[0] == "branch" && args[1] == "--show-current" && len(args) == 2:
			return facts{unknown: true, single: true}
		case slices.Contains([]string{"merge-base", "write-tree", "describe"}, args[0]):
			return facts{unknown: true, rooted: true}
		}
		return facts{unknown: slices.Contains(args, "") || len(args) < 2 || args[0] != "rev-list" || args[1] != "--count"}
	case "pgrep", "pidof":
		return facts{unknown: slices.ContainsFunc(args, func(s string) bool { return s == "" || s[0] == '-' && s != "-f" && s != "-x" && s != "-n" && s != "-o" })}
	case "tput":
		return facts{unknown: len(args) != 1 || args[0] != "cols" && args[0] != "lines"}
	case "getconf":
		return facts{unknown: len(args) != 1 || args[0] == "" || args[0][0] != '_', texts: []string{"undefined"}}
	case "awk", "gawk", "mawk":
		return awkFacts(args)
	}
	return anything
}

// wordsFacts returns the facts of the output of programs that print their words,
// or a text derived from them.
func (a *analysis) wordsFacts(name string, list []*syntax.Word, fixed []string) facts {
	if name == "printf" && len(fixed) > 0 && numericPrintf().MatchString(fixed[0]) {
		return facts{}
	}
	var f facts
	for i, w := range list {
		g := facts{texts: []string{fixed[i]}}
		if fixed[i] == "" {
			g = factsOf(a.one(w))
		}
		if (name == "echo" || name == "printf") && strings.Contains(fixed[i], `\`) {
			g.unknown = true // an escape may be any character
		}
		f.add(g)
	}
	if name != "echo" {
		f.changed(anywhere)
	}
	f.joins = f.joins || len(f.reads) > 0 && len(list) > 1
	return f
}

// numericPrintf matches formats with which printf prints only numbers.
var numericPrintf = lazyregexp.New(`^(%[-+ 0]*[0-9]*[diu]|\\[nt]|[-0-9 .:,/])+$`)

// onlyOptions reports whether all words are options of the given letters, or
// among others.
func onlyOptions(args []string, letters string, others ...string) bool {
	for _, w := range args {
		if slices.Contains(others, w) {
			continue
		}
		if len(w) < 2 || w[0] != '-' || strings.Trim(w[1:], letters) != "" {
			return false
		}
	}
	return true
}

// isNumericDate reports whether date prints digits: its only operand is a format for
// these.
func isNumericDate(args []string) bool {
	numeric := false
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case w == "-u" || w == "--utc" || strings.HasPrefix(w, "--date=") || strings.HasPrefix(w, "--reference="):
		case w == "-d" || w == "-r" || w == "--date" || w == "--reference":
			i++
		case !numeric && numericDate().MatchString(w):
			numeric = true
		default:
			return false
		}
	}
	return numeric
}

var numericDate = lazyregexp.New(`^\+(%[-_0]*[0-9]*[sNYmdHMSjuwyCegGIklUVW]|[-0-9 :.])+$`)

// statFacts returns the facts of the output of stat with one format for numbers.
func statFacts(list []*syntax.Word, args []string) facts {
	formats, files, doubtful := 0, 0, false
	var f facts
	for i := 0; i < len(args); i++ {
		w := args[i]
		format, ok := strings.CutPrefix(w, "--format=")
		switch {
		case ok:
		case w == "-c" || w == "-f" || w == "--format":
			if i++; i == len(args) {
				return facts{unknown: true}
			}
			format = args[i]
			if w == "-f" { // GNU's stat describes the file system of a file with that name
				f = facts{texts: []string{"File"}, joins: true}
			}
		case strings.HasPrefix(w, "-c"):
			format = w[2:]
		case w == "-L":
			continue
		case w != "" && w[0] == '-':
			return facts{unknown: true}
		default:
			files++
			doubtful = doubtful || w == ""
			if w == "" && (len(list[i].Parts) != 1 || !isOneWord(list[i].Parts[0])) {
				return facts{unknown: true}
			}
			continue
		}
		if formats++; len(format) != 2 || format[0] != '%' || !strings.Contains("sYXZWaugihbz", format[1:]) {
			return facts{unknown: true}
		}
	}
	// An option instead of the only file leaves nothing to print.
	if formats != 1 || doubtful && files > 1 {
		return facts{unknown: true}
	}
	return f
}

// isOneWord reports whether a piece of a word is exactly one word.
func isOneWord(p syntax.WordPart) bool {
	q, ok := p.(*syntax.DblQuoted)
	return ok && !slices.ContainsFunc(q.Parts, isSeveral)
}

// isCount reports whether grep only prints counts: that of its input or of one
// file, or any without the names of the files.
func (a *analysis) isCount(list []*syntax.Word, args []string, recurses bool) bool {
	counts, bare, operands, pattern := false, false, 0, false
	for i, w := range args {
		if isExpandedWord(list[i]) && !a.isOperand(list[i]) {
			return false
		}
		switch {
		case w == "--count":
			counts = true
		case pattern:
			pattern = false
		case recurses && w == "--no-filename":
			bare = true
		case len(w) > 1 && w[0] == '-':
			if strings.Trim(w[1:], "ciEFvwxqshPeI") != "" || strings.Contains(w[1:len(w)-1], "e") {
				return false
			}
			counts = counts || strings.Contains(w, "c")
			bare = bare || strings.Contains(w, map[bool]string{false: "h", true: "I"}[recurses])
			if pattern = strings.HasSuffix(w, "e"); pattern {
				operands++
			}
		default:
			operands++
		}
	}
	return counts && (bare || operands <= 2 && !recurses)
}

// isExpandedWord reports whether bash expands something in a word.
func isExpandedWord(w *syntax.Word) bool {
	_, fixed := fixedText(w)
	return !fixed
}

// isOperand reports whether a word in which bash expands something is certainly
// one word, and not an option.
func (a *analysis) isOperand(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.SglQuoted:
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, `*?[{`) {
				return false
			}
		case *syntax.DblQuoted:
			if slices.ContainsFunc(p.Parts, isSeveral) {
				return false
			}
		default:
			return false
		}
	}
	v := a.one(w)
	f := factsOf(v)
	return !slices.ContainsFunc(append(v.values, v.Text, v.head), func(s string) bool { return strings.HasPrefix(s, "-") }) && (!f.unknown || f.rooted)
}

// isSeveral reports whether a quoted piece may be several words, or none.
func isSeveral(p syntax.WordPart) bool {
	e, ok := p.(*syntax.ParamExp)
	if !ok {
		return false
	}
	w, _ := e.Index.(*syntax.Word)
	return e.Excl || e.Names != 0 || e.Param == nil || e.Param.Value == "@" || w != nil && w.Lit() == "@" ||
		e.Exp != nil && e.Exp.Word != nil && slices.ContainsFunc(e.Exp.Word.Parts, isExpanded)
}

// awkFacts returns the facts of the output of awk: of a program that only prints a
// sum or a count, that it is a number.
func awkFacts(args []string) facts {
	program := ""
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case program != "":
			if w == "" || strings.Contains(w, "=") {
				return facts{unknown: true}
			}
		case w == "-F":
			i++
		case strings.HasPrefix(w, "-F"):
		case w == "" || w[0] == '-':
			return facts{unknown: true}
		default:
			program = strings.TrimSpace(w)
		}
	}
	if printingAwk().MatchString(program) {
		return facts{}
	}
	m := summingAwk().FindStringSubmatch(program)
	if m == nil {
		return facts{unknown: true}
	}
	for _, sum := range sumInAwk().FindAllStringSubmatch(m[1], -1) {
		if sum[1] == m[2] && strings.ToUpper(m[2]) != m[2] {
			return facts{texts: []string{"nan inf"}} // sums of such words
		}
	}
	return facts{unknown: true}
}

// Programs of awk that print one number: that of lines or columns, or a sum. No
// statement in them gives a variable a text.
const (
	awkPattern = `(?:(?:/(?:[^/\\\n]|\\.)*/|"[^"\\\n]*"|\$?[0-9.]+|NR|NF|FNR|\$NF|[=!]=|[<>]=?|!?~|&&|\|\|) *)*`
	awkSum     = `[a-z_]+ *(?:\+\+|\+= *(?:\$?[0-9.]+|\$?NF|NR|[-+*/()]| )+)`
)

var (
	sumInAwk    = lazyregexp.New(`([a-z_]+) *\+[+=]`)
	printingAwk = lazyregexp.New(`^(?:END *|` + awkPattern + `)\{ *print +(?:NR|NF|FNR)(?: *[-+] *[0-9]+)? *;? *\}$`)
	summingAwk  = lazyregexp.New(`^((?:` + awkPattern + `\{ *` + awkSum + ` *(?:; *` + awkSum + ` *)*;? *\} *)+)END *\{ *print +([a-z_]+)(?: *\+ *0)? *;? *\}$`)
)

// firstColumn reports whether a command prints the first column of its input,
// with columns separated by a blank, or by a tab.
func (a *analysis) firstColumn(c *syntax.CallExpr, tab bool) bool {
	ws := a.fixedWords(c)
	if len(ws) < 2 {
		return false
	}
	args := strings.Join(ws[1:], "|")
	switch {
	case ws[0] == "awk":
		return len(ws) == 2 && strings.ReplaceAll(args, " ", "") == "{print$1}"
	case ws[0] == "cut" && tab:
		return args == "-f1" || args == "-f|1"
	case ws[0] == "cut":
		return slices.Contains([]string{"-d |-f1", "-d |-f|1", "-d| |-f1", "-d| |-f|1", "-f1|-d ", "-f|1|-d ", "-f1|-d| ", "-f|1|-d| "}, args)
	}
	return false
}

// countsFirst reports whether a command prints lines that begin with a number,
// and another the first column of these.
func (a *analysis) countsFirst(s *syntax.Stmt, column *syntax.CallExpr) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.DplOut }) {
		return false
	}
	ws := a.fixedWords(c)
	if len(ws) == 0 || ws[0] != "wc" && ws[0] != "du" && ws[0] != "cksum" || !a.firstColumn(column, ws[0] == "du") {
		return false
	}
	for _, w := range ws[1:] { // a file name with a newline makes another line
		if w == "" || strings.Contains(w, "\n") || strings.HasPrefix(w, "--files0") {
			return false
		}
	}
	return ws[0] != "du" || slices.ContainsFunc(ws, func(w string) bool { return onlyOptions([]string{w}, "skbmc") && strings.Contains(w, "s") })
}

// onlyAmong reports whether all options in words are among others.
func onlyAmong(words []string, others string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return w == "" || w[0] == '-' && !in(others, w) })
}

// onlyRevisions reports whether git prints only hashes for words.
func onlyRevisions(args []string) bool {
	return !slices.ContainsFunc(args, func(w string) bool { return w == "" || w[0] == '-' && w != "--short" && w != "--verify" })
}

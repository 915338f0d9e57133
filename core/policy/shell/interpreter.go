package shell

import (
	"slices"
	"strings"
	"sync"
)

// interpreter describes how code is passed to the program of a language. To add
// one, add a row.
type interpreter struct {
	names  string // separated by blanks; a version may follow, as in python3.12
	code   string // letters with code as value, or that make it read code
	long   string // long options with code as value, with two dashes or one
	valued string // letters with another value
	ends   string // letters after which all words belong to the program, like python's -m
	edits  string // letters that make it write its files
	stdin  bool   // without a file it runs its input
	finds  string // long options with which it finds its files by itself
	words  string // first words that make it read code
}

var interpreters = []*interpreter{
	{names: "python pypy ipython", code: "ci", valued: "WXQ", ends: "m", long: "check-hash-based-pycs", stdin: true},
	{names: "perl", code: "eEMmdDx", valued: "IF", edits: "i", stdin: true},
	{names: "ruby jruby", code: "erx", valued: "IFECKTW", edits: "i", long: "require eval", stdin: true},
	{names: "node nodejs", code: "epri", valued: "C", long: "eval print require import loader experimental-loader openssl-config env-file interactive", stdin: true, finds: "test", words: "inspect"},
	{names: "php", code: "rRBEFdzca", valued: "St", long: "run process-code process-begin process-end define zend-extension php-ini interactive", stdin: true},
	{names: "lua luajit", code: "eli", valued: "", stdin: true},
	{names: "Rscript R r", code: "ef", long: "expr eval e file", stdin: true},
	{names: "gnuplot", code: "ecp", stdin: true},
	{names: "octave octave-cli matlab scilab scilab-cli maxima gp sage magma", code: "erbfp", long: "eval batch batch-string very-quiet exec-path image-path path info-program", stdin: true},
	{names: "ts-node tsx esno coffee babel-node jsc rhino jjs qjs d8 gjs mujs duk", code: "eprcif", long: "eval print require import loader command", stdin: true},
	{names: "clojure clj bb planck lumo janet fennel gosh csi chez petite raku rakudo pike crystal bpftrace stap rexx regina", code: "eiclrmMTAXI", long: "eval init load main require", stdin: true, words: "eval repl run nrepl-server"},
	{names: "osascript", code: "e", stdin: true},
	{names: "tclsh wish expect", code: "cf", stdin: true},
	{names: "guile scheme racket sbcl clisp", code: "celxr", long: "eval load", stdin: true},
	{names: "julia", code: "eELi", long: "eval print load", stdin: true},
	{names: "elixir iex erl", code: "er", long: "eval require s run pa", stdin: true},
	{names: "bun deno", code: "ceCpER", long: "eval print preload", stdin: true, words: "eval repl exec"},
	{names: "ghci ocaml swift scala groovy jshell irb pry fish csh tcsh nu elvish xonsh pwsh powershell cmd", code: "ceCpER", long: "eval command print c Command EncodedCommand init-command", stdin: true},
}

// interpreterOf finds the row of an interpreter, whatever its version.
func interpreterOf(name string) (*interpreter, bool) {
	row, ok := interpretersByName()[strings.TrimRight(name, "0123456789.")]
	return row, ok
}

var interpretersByName = sync.OnceValue(func() map[string]*interpreter {
	rows := make(map[string]*interpreter)
	for _, row := range interpreters {
		for name := range strings.FieldsSeq(row.names) {
			rows[name] = row
		}
	}
	return rows
})

// interpreter adds the program of a language: the effect of code on the command
// line is unknown.
func (a *analysis) interpreter(sc *scope, row *interpreter, ws []arg, input input) int {
	index := a.plain(sc, ws)
	code := func(i int) int {
		a.runs(sc, index, i, ws[min(i, len(ws)-1)].text(), "the effect of the code is unknown")
		return index
	}
	edits, finds := 0, false
	for i := 1; i < len(ws); i++ {
		w := ws[i]
		switch {
		case w.is("-"):
			return code(i)
		case w.is("--"):
			if i+1 < len(ws) {
				a.runsFile(sc, index, ws[i+1], false)
			}
			return index
		case w.is("run") && in(row.words, "repl"):
		case strings.HasPrefix(w.head, "-") && !w.Static && !strings.Contains(w.head, "="):
			return code(i)
		case strings.HasPrefix(w.head, "-"):
			name, _, _ := strings.Cut(strings.TrimLeft(w.template, "-"), "=")
			if in(row.long, name) || len(name) > 1 && strings.HasPrefix(w.head, "--") && slices.ContainsFunc(strings.Fields(row.long), func(l string) bool { return strings.HasPrefix(l, name) }) {
				return code(i)
			}
			if strings.HasPrefix(w.head, "--") {
				finds = finds || in(row.finds, name)
				continue
			}
			if w.is("-v", "-V", "-h") && len(ws) == 2 {
				return index
			}
			next, ends := row.letters(w.template[1:])
			switch {
			case next == codeLetter:
				return code(i)
			case ends:
				_, attached, _ := strings.Cut(w.template, row.ends)
				a.module(sc, index, i, attached, ws)
				return index
			case next == editLetter && edits == 0:
				edits = i
			case next == valueLetter:
				i++
			}
		case !w.Static && w.splits && !w.number && len(w.values) == 0:
			return code(i)
		default:
			if edits > 0 {
				a.writes(sc.under(index, edits), dynamic("…"))
			}
			if w.is(strings.Fields(row.words)...) || isDescriptorFile(w.template) || !w.Static && strings.HasPrefix(w.template, "<(") {
				return code(i)
			}
			a.runsFile(sc, index, w, false)
			return index
		}
	}
	if finds {
		return index
	}
	if row.stdin && (len(ws) > 1 || input.given) && !asksVersion(ws) || row.stdin && len(ws) == 1 {
		a.runs(sc, index, 1, joinText(ws), "the code that it reads is unknown")
	}
	return index
}

// codeModules lists the modules of python that run code in their arguments or
// their input; runnerModules lists those that run the module or file in their
// argument.
const (
	codeModules   = "timeit code asyncio pdb bdb idlelib runpy IPython ipython ptpython bpython pudb ipdb pyperf"
	runnerModules = "cProfile profile trace coverage"
)

// module evaluates python's -m, which is in ws[i]: attached is the rest of that
// word.
func (a *analysis) module(sc *scope, index, i int, attached string, ws []arg) {
	name := ws[i]
	switch {
	case attached != "":
		name.template = attached
	case i+1 == len(ws):
		return
	default:
		i++
		name = ws[i]
	}
	top, _, _ := strings.Cut(name.template, ".")
	switch {
	case !name.Static:
		a.runs(sc, index, i, name.text(), "the module that runs is unknown")
	case in(codeModules, top):
		a.runs(sc, index, i, name.text(), "the effect of the code is unknown")
	case in(runnerModules, top):
		for j := i + 1; j < len(ws); j++ {
			switch w := ws[j]; {
			case w.is("-m"):
				a.module(sc, index, j, "", ws)
				return
			case w.is("-c") && top != "trace", !w.Static && w.splits && !w.number, isDescriptorFile(w.template):
				a.runs(sc, index, j, w.text(), "the effect of the code is unknown")
				return
			default:
				a.runsFile(sc, index, w, false)
			}
		}
	default:
		file := strings.ReplaceAll(name.template, ".", "/")
		a.runsFile(sc, index, known(file+".py"), false)
		a.runsFile(sc, index, known(file+"/__main__.py"), false)
	}
}

func asksVersion(ws []arg) bool {
	return len(ws) == 2 && ws[1].is("--version", "--help", "-v", "-V", "-h", "version", "--v8-options")
}

type letterKind int

const (
	otherLetter letterKind = iota
	codeLetter
	editLetter
	valueLetter
)

// letters parses a word of short options. ends is true if the remaining words
// belong to a program that the option names.
func (row *interpreter) letters(s string) (kind letterKind, ends bool) {
	for i := range len(s) {
		c := s[i : i+1]
		switch {
		case strings.Contains(row.code, c):
			return codeLetter, false
		case strings.Contains(row.ends, c):
			return otherLetter, true
		case strings.Contains(row.edits, c): // a suffix may follow, or more letters
			if strings.ContainsAny(s[i:], row.code) {
				return codeLetter, false
			}
			return editLetter, false
		case strings.Contains(row.valued, c):
			if i+1 == len(s) {
				return valueLetter, false
			}
			return otherLetter, false
		}
	}
	return otherLetter, false
}

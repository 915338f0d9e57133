package shell

import (
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// facts describe the possible values of a word that bash evaluates: as
// arithmetic, or as the name of a variable. A subscript in the value can run
// commands there.
type facts struct {
	unknown bool     // it may be any text
	reads   []string // variables whose values are part of it
	texts   []string // its static text
	rooted  bool     // it does not begin with a dash, although it is unknown or read
	single  bool     // it contains neither blanks nor patterns, although it is unknown or read
	printed bool     // a program has printed part of it
	start   start    // where it may begin, other than with the texts and values as the line has them
	joins   bool     // it may contain a name that is not in texts
}

// start describes where a changed value may begin.
type start uint8

const (
	anywhere    start = 1 << iota // its beginning has been cut off, or parts of it
	afterSlash                    // it has been cut off up to a slash
	afterLine                     // whole lines have been cut off or moved
	atText                        // it may begin with each of its texts
	inOtherCase                   // the same, with capital letters for small ones or the reverse
)

// isCut reports whether a value's beginning may have been cut off.
func (s start) isCut() bool { return s&(anywhere|afterSlash|afterLine) != 0 }

// isOther reports whether a value may contain a text that is not in its texts.
func (s start) isOther() bool { return s&(anywhere|inOtherCase) != 0 }

// mayBegin reports whether a value of a text may begin with a prefix of one character.
func (s start) mayBegin(text, prefix string) bool {
	switch {
	case s == 0:
		return false
	case s&anywhere != 0 && strings.Contains(text, prefix),
		s&afterSlash != 0 && strings.Contains(text, "/"+prefix),
		s&afterLine != 0 && strings.Contains(text, "\n"+prefix):
		return true
	}
	return strings.HasPrefix(text, prefix)
}

func (f *facts) add(g facts) {
	f.rooted = f.isRooted() && g.isRooted()
	f.single = f.isSingle() && g.isSingle()
	f.printed = f.printed || g.printed
	f.unknown = f.unknown || g.unknown
	f.joins = f.joins || g.joins
	f.start |= g.start
	f.reads = appendNew(f.reads, g.reads...)
	f.texts = appendNew(f.texts, g.texts...)
}

// isRooted reports whether a value does not begin with a dash.
func (f *facts) isRooted() bool {
	return f.rooted || !f.unknown && len(f.reads) == 0 && !slices.ContainsFunc(f.texts, func(s string) bool { return s != "" && !isRooted(s) })
}

// isSingle reports whether a value contains neither blanks nor patterns.
func (f *facts) isSingle() bool {
	return (f.single || !f.unknown && len(f.reads) == 0) && !slices.ContainsFunc(f.texts, func(s string) bool { return strings.ContainsAny(s, " \t\n*?[\\") })
}

// factsOf returns the facts of a word.
func factsOf(w arg) facts {
	switch {
	case w.Static:
		return facts{texts: []string{w.Text}}
	case w.facts != nil:
		f := *w.facts
		f.rooted = f.rooted || isRooted(w.head)
		return f
	case w.Pattern:
		return facts{unknown: true, rooted: !beginsPattern(w) && isRooted(w.Text)}
	}
	return facts{unknown: !w.number, rooted: isRooted(w.head)}
}

// isRooted reports whether a text begins with a character other than a dash.
func isRooted(head string) bool { return head != "" && head[0] != '-' && head[0] != '+' }

// evaluation is a place where bash evaluates a value.
type evaluation struct {
	sc     *scope
	text   string
	source string // the text that contains it
	facts  facts
	name   bool // the value names a variable; only its subscript is evaluated
}

// learn records a value that a variable may receive anywhere in the line.
func (a *analysis) learn(name string, f facts) {
	name = canonicalName(name)
	known := a.values[name]
	if known == nil {
		known = &facts{}
		a.values[name] = known
	}
	known.add(f)
	a.learned = a.learned || f.unknown
}

// canonicalName returns @ for all positional parameters.
func canonicalName(name string) string {
	if name == "*" || isDigits(name) {
		return "@"
	}
	return name
}

// evaluated records that bash evaluates the words of a node.
func (a *analysis) evaluated(n syntax.Node) {
	a.evaluates = true
	a.evaluations = append(a.evaluations, evaluation{sc: a.at, text: a.written(n), source: a.source, facts: a.nodeFacts(n)})
}

// naming records that the value of a node names a variable.
func (a *analysis) naming(n syntax.Node, f facts) {
	a.evaluates = true
	a.evaluations = append(a.evaluations, evaluation{sc: a.at, text: a.written(n), source: a.source, facts: f, name: true})
}

// evaluatedText records that bash evaluates a text, such as the subscript in read
// 'a[x]'.
func (a *analysis) evaluatedText(sc *scope, text string) {
	if strings.Contains(text, "[") {
		a.evaluations = append(a.evaluations, evaluation{sc: sc, text: text, source: a.source, facts: facts{texts: []string{text}}})
	}
}

// checkEvaluations adds a part for each text in which bash evaluates a value that
// is neither a number nor a plain word.
func (a *analysis) checkEvaluations() {
	var reported []string
	for _, e := range a.evaluations {
		if slices.Contains(reported, e.source) {
			continue
		}
		c := check{a: a, seen: map[string]bool{}}
		if e.name && !c.named(e.facts) || !e.name && !c.evaluated(e.facts) {
			reported = append(reported, e.source)
			a.unknown(e.sc, e.text, "bash evaluates the value, which may contain a command")
		}
	}
}

// check follows the values that an evaluation reaches.
type check struct {
	a    *analysis
	seen map[string]bool
}

// evaluated reports whether evaluating a value runs nothing: each name in it
// stands for a value that is evaluated in turn.
func (c check) evaluated(f facts) bool {
	if f.unknown || f.joins && c.mayName(f) {
		return false
	}
	for _, name := range f.reads {
		if !c.variable(name) {
			return false
		}
	}
	for _, text := range f.texts {
		if strings.ContainsAny(text, "$`") {
			return false
		}
		for name := range namesIn(text) {
			if !c.variable(name) {
				return false
			}
		}
	}
	return true
}

// mayName reports whether the characters of a value may form the name of a variable
// with external text.
func (c check) mayName(f facts) bool {
	texts := strings.Join(c.reached(f, map[string]bool{}), "")
	if c.a.learned {
		return strings.ContainsFunc(texts, func(r rune) bool { return r == '_' || r == '\\' || unicode.IsLetter(r) })
	}
	upper := strings.ToUpper(texts)
	return strings.Contains(texts, `\`) || slices.ContainsFunc(bashSets, func(name string) bool {
		return !strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(upper, r) })
	})
}

// reached returns the static texts of a value, and those of the variables in it.
func (c check) reached(f facts, seen map[string]bool) []string {
	texts := slices.Clone(f.texts)
	for _, name := range f.reads {
		name = canonicalName(name)
		if g := c.a.values[name]; g != nil && !seen[name] {
			seen[name] = true
			texts = append(texts, c.reached(*g, seen)...)
		}
	}
	return texts
}

func (c check) variable(name string) bool {
	name = canonicalName(name)
	if c.seen[name] {
		return true
	}
	c.seen[name] = true
	if slices.Contains(bashSets, name) {
		return false
	}
	f := c.a.values[name]
	return f == nil || !(c.a.splitsElse && c.mayName(*f)) && c.evaluated(*f)
}

// bashSets lists variables that bash sets to external text.
var bashSets = []string{
	"_", "REPLY", "MAPFILE", "BASH_REMATCH", "BASH_COMMAND", "BASH_ARGV", "BASH_ARGV0", "BASH_EXECUTION_STRING", "OPTARG", "PWD", "OLDPWD", "DIRSTACK",
	"READLINE_LINE", "COMP_LINE", "COMP_WORDS", "BASH_SOURCE",
}

// named reports whether using a value as the name of a variable runs nothing.
func (c check) named(f facts) bool {
	if slices.ContainsFunc(f.texts, func(s string) bool { return strings.Contains(s, "[") }) {
		return c.evaluated(f)
	}
	if f.unknown || slices.ContainsFunc(f.texts, func(s string) bool { return strings.ContainsAny(s, "$`") }) {
		return false
	}
	for _, name := range f.reads {
		name = canonicalName(name)
		if slices.Contains(bashSets, name) {
			return false
		}
		if g := c.a.values[name]; g != nil && !c.seen[name] {
			c.seen[name] = true
			if !c.named(*g) {
				return false
			}
		}
	}
	return true
}

// namesIn yields the names of variables in a text.
func namesIn(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := 0; i < len(s); {
			start := i
			for i < len(s) && isNameByte(s[i]) {
				i++
			}
			if i > start && (s[start] < '0' || s[start] > '9') && !yield(s[start:i]) {
				return
			}
			if i == start {
				i++
			}
		}
	}
}

// nodeFacts returns the facts of the values in a node, without those of the
// commands in it.
func (a *analysis) nodeFacts(n syntax.Node) facts {
	var f facts
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			f.add(a.partsFacts(n.Parts))
			return false
		case *syntax.CmdSubst, *syntax.ProcSubst:
			f.unknown = true
			return false
		case *syntax.ParamExp:
			f.add(a.paramFacts(n))
			return false
		}
		return true
	})
	return f
}

// partsFacts returns the facts of the pieces of a word.
func (a *analysis) partsFacts(parts []syntax.WordPart) facts {
	var f facts
	begun := false // by text of the line
	for _, p := range parts {
		var g facts
		switch p := p.(type) {
		case *syntax.Lit:
			g = facts{texts: []string{strings.ReplaceAll(p.Value, `\`, "")}}
		case *syntax.SglQuoted:
			g = facts{texts: []string{strings.Join(quotedTexts(p), "")}}
		case *syntax.DblQuoted:
			g = a.partsFacts(p.Parts)
		default:
			g = a.pieceFacts(p)
		}
		if begun {
			g.start &= inOtherCase
		}
		f.add(g)
		begun = begun || g.start == 0 && len(g.texts) == 1 && len(g.reads) == 0 && !g.unknown && g.texts[0] != ""
	}
	f.joins = f.joins || len(parts) > 1
	return f
}

// pieceFacts returns the facts of a piece that bash expands.
func (a *analysis) pieceFacts(p syntax.WordPart) facts {
	switch p := p.(type) {
	case *syntax.ParamExp:
		return a.paramFacts(p)
	case *syntax.ArithmExp, *syntax.ProcSubst: // a number, the name of a descriptor
		return facts{}
	case *syntax.CmdSubst:
		if a.following >= maxReferences {
			return facts{unknown: true}
		}
		a.following++
		defer func() { a.following-- }()
		f := a.outputFacts(p.Stmts)
		f.printed = f.unknown
		return f
	}
	return facts{unknown: true}
}

// paramFacts returns the facts of an expansion.
func (a *analysis) paramFacts(p *syntax.ParamExp) facts {
	if p.Length {
		return facts{}
	}
	if p.Param == nil || p.Names != 0 || p.Width {
		return facts{unknown: true}
	}
	if p.Excl {
		return facts{unknown: !isKeys(p) || a.maps}
	}
	var f facts
	if a.splitsElse && joinsFields(p) {
		f.changed(atText)
	}
	switch name := p.Param.Value; name {
	case "#", "?", "$", "!", "-":
	default:
		f.reads = []string{name}
	}
	if p.Exp != nil {
		f.unknown = p.Exp.Op == syntax.OtherParamOps && !slices.Contains([]string{"U", "u", "L"}, p.Exp.Word.Lit())
		switch p.Exp.Op {
		case syntax.RemSmallPrefix, syntax.RemLargePrefix:
			f.changed(anywhere)
			if w := p.Exp.Word; w != nil && len(w.Parts) > 0 && endsInSlash(w.Parts[len(w.Parts)-1]) {
				f.start = afterSlash
			}
		case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
			f.changed(atText)
		case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll, syntax.OtherParamOps:
			f.changed(inOtherCase)
		default:
			if p.Exp.Word == nil {
				break
			}
			f.add(a.partsFacts(p.Exp.Word.Parts))
		}
	}
	if p.Slice != nil {
		f.changed(anywhere)
	}
	if p.Repl != nil {
		to := facts{}
		if p.Repl.With != nil {
			to = a.partsFacts(p.Repl.With.Parts)
		}
		f.changed(anywhere)
		if len(to.texts) == 1 && to.texts[0] != "" && len(to.reads) == 0 && !to.unknown {
			f.start = atText // its beginning is that text, or stays
		}
		f.add(to)
	}
	return f
}

// changed records that a program or an expansion makes another text of a value.
func (f *facts) changed(at start) {
	f.start |= at
	f.joins = true
}

// endsInSlash reports whether a pattern of which this is the last piece matches up to a
// slash.
func endsInSlash(p syntax.WordPart) bool {
	lit, ok := p.(*syntax.Lit)
	return ok && strings.HasSuffix(lit.Value, "/")
}

// isKeys reports whether an expansion yields the subscripts of an array.
func isKeys(p *syntax.ParamExp) bool {
	w, ok := p.Index.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// arrayFacts returns the facts of the elements of an array.
func (a *analysis) arrayFacts(array *syntax.ArrayExpr) facts {
	var f facts
	for _, e := range array.Elems {
		if e.Value == nil {
			continue
		}
		for _, w := range a.words([]*syntax.Word{e.Value}) {
			f.add(factsOf(w))
		}
	}
	return f
}

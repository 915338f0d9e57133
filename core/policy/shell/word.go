package shell

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of resolution; beyond them a word is not static.
const (
	maxBraceWords = 64 // expansions of one word
	maxCandidates = 16 // values of one word
)

// arg is a word with additional data of the analysis.
type arg struct {
	Word
	template string   // its value, with dynamic pieces as written, numbers as 0
	head     string   // its certain prefix
	values   []string // its possible expansions, before bash splits them
	certain  []string // all its expansions, if it is not static but they are known
	emptied  string   // a possible expansion that begins with a dash, because all before it may be empty; "": none
	splits   bool     // not quoted: it may expand to no word, one or several
	number   bool     // all its dynamic pieces are numbers
	quoted   bool     // part of it is quoted, so that it is a word even if empty
	filled   bool     // a program replaces a placeholder in it; all else is static
	facts    *facts   // the known facts of a word that is not static; nil: none
}

// known returns a static word.
func known(text string) arg {
	return arg{Word: Word{Text: text, Static: true}, template: text, head: text}
}

// dynamic returns an unknown word.
func dynamic(text string) arg {
	return arg{Word: Word{Text: text}, template: text}
}

// is reports whether a word is certainly one of the given.
func (w arg) is(texts ...string) bool {
	if w.Static {
		for _, t := range texts {
			if w.Text == t {
				return true
			}
		}
	}
	return false
}

// text returns a word for display.
func (w arg) text() string {
	return wordText(w.Word)
}

func publicWords(ws []arg) []Word {
	out := make([]Word, len(ws))
	for i, w := range ws {
		out[i] = w.Word
	}
	return out
}

func joinText(ws []arg) string {
	texts := make([]string, len(ws))
	for i, w := range ws {
		texts[i] = w.text()
	}
	return strings.Join(texts, " ")
}

// words resolves the words of a command as bash does: braces, expansions,
// splitting, removal of quotes.
func (a *analysis) words(list []*syntax.Word) []arg {
	out := make([]arg, 0, len(list))
	for _, w := range list {
		if len(w.Parts) == 1 {
			if lit, ok := w.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, `\{*?[~`) {
				out = append(out, known(lit.Value))
				continue
			}
		}
		variants, whole := braces(w)
		if !whole {
			out = append(out, a.cannotTell(w))
			continue
		}
		for _, v := range variants {
			f := fields{a: a, split: true}
			f.word(v)
			out = append(out, f.done()...)
		}
	}
	return out
}

// value resolves a word that bash neither splits nor globs: an assigned value,
// the text of a here-string.
func (a *analysis) value(w *syntax.Word) arg {
	if w == nil {
		return known("")
	}
	f := fields{a: a}
	f.word(w)
	f.cur.quoted = true
	return f.done()[0]
}

// one resolves a word that must be a single one, such as the target of a
// redirection.
func (a *analysis) one(w *syntax.Word) arg {
	ws := a.words([]*syntax.Word{w})
	if len(ws) == 1 {
		return ws[0]
	}
	return a.cannotTell(w)
}

func (a *analysis) cannotTell(w *syntax.Word) arg {
	d := dynamic(a.written(w))
	d.splits = true
	return d
}

// fields builds the words to which one word of the source expands.
type fields struct {
	a     *analysis
	split bool // words are split and globbed
	facts *facts
	out   []arg
	cur   field
}

// field is a word under construction.
type field struct {
	template strings.Builder
	pattern  strings.Builder // as template, with quoted pattern characters escaped
	raw      strings.Builder
	shapes   []string // see [Word.Shapes]; nil: as template
	head     string
	emptied  strings.Builder // the word with all its expansions empty
	values   []string        // nil: only its template, unless dynamic
	unsure   bool            // a dynamic piece has no known values
	certain  []string        // all values of a dynamic field, unless unclear
	unclear  bool            // a dynamic piece may have other values
	dynamic  bool
	words    bool // a dynamic piece may be several words
	notNum   bool
	quoted   bool
	home     bool // it begins with a ~ that bash replaces
	glob     bool
	bracket  bool // an unquoted [ is open
	inHole   bool // likewise in the last of shapes
}

func (f *fields) word(w *syntax.Word) {
	if slices.ContainsFunc(w.Parts, isExpanded) {
		known := f.a.partsFacts(w.Parts)
		f.facts = &known
	}
	for i, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok && i == 0 {
			f.cur.home = beginsHome(lit.Value, len(w.Parts) == 1)
			if f.cur.home && f.place(w, lit.Value) {
				continue
			}
		}
		f.part(p)
	}
}

// place processes the first piece of a word if it begins with ~+, ~- or a ~ with
// a number: bash replaces these by PWD, OLDPWD and pushed directories.
func (f *fields) place(w *syntax.Word, text string) bool {
	name, rest, slash := strings.Cut(text, "/")
	if len(name) < 2 || !strings.Contains("+-0123456789", name[1:2]) {
		return false
	}
	known := f.a.partsFacts(w.Parts)
	reads := map[string]string{"~+": "PWD", "~-": "OLDPWD"}[name]
	reads = cmp.Or(reads, "DIRSTACK")
	known.add(facts{reads: []string{reads}})
	f.facts, f.cur.home = &known, false
	f.dyn(name, nil, true, false)
	if slash {
		f.lit("/" + rest)
	}
	return true
}

// isExpanded reports whether a piece is not static.
func isExpanded(p syntax.WordPart) bool {
	switch p := p.(type) {
	case *syntax.Lit, *syntax.SglQuoted:
		return false
	case *syntax.DblQuoted:
		return slices.ContainsFunc(p.Parts, isExpanded)
	}
	return true
}

// beginsHome reports whether bash replaces the ~ at the beginning of a text: none
// of its characters may be quoted.
func beginsHome(s string, whole bool) bool {
	name, _, slash := strings.Cut(s, "/")
	return strings.HasPrefix(s, "~") && (slash || whole) && !strings.Contains(name, `\`)
}

func (f *fields) part(p syntax.WordPart) {
	switch p := p.(type) {
	case *syntax.Lit:
		f.lit(p.Value)
	case *syntax.SglQuoted:
		f.cur.quoted = true
		if p.Dollar {
			f.static(unescapeANSI(p.Value), "$'"+p.Value+"'")
		} else {
			f.static(p.Value, "'"+p.Value+"'")
		}
	case *syntax.DblQuoted:
		f.cur.quoted = true
		f.quotedParts(p)
	case *syntax.ParamExp:
		if f.split && f.a.isIFS(p) {
			f.end()
			return
		}
		f.param(p, false)
	case *syntax.ExtGlob:
		f.cur.glob = true
		raw := f.a.written(p)
		f.static("", "")
		f.cur.hole(HoleText, nil)
		f.cur.template.WriteString(raw)
		f.cur.pattern.WriteString(raw)
		f.cur.raw.WriteString(raw)
		f.cur.unsure, f.cur.dynamic, f.cur.notNum = true, true, true
	default:
		f.expansion(p, false)
	}
}

// quotedParts processes the inside of double quotes.
func (f *fields) quotedParts(q *syntax.DblQuoted) {
	f.cur.raw.WriteByte('"')
	for _, p := range q.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			f.static(unescapeDouble(p.Value), p.Value)
		case *syntax.ParamExp:
			f.param(p, true)
		default:
			f.expansion(p, true)
		}
	}
	f.cur.raw.WriteByte('"')
}

// lit processes unquoted text.
func (f *fields) lit(s string) {
	if !strings.ContainsAny(s, `\*?[]`) {
		f.static(s, s)
		return
	}
	var text, pattern strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] != '\n' {
				f.cur.quoted = true
				text.WriteByte(s[i])
				pattern.WriteString(escapePattern(s[i : i+1]))
			}
			continue
		case c == '*' || c == '?':
			f.cur.glob = true
		case c == '[':
			f.cur.bracket = true
		case c == ']' && f.cur.bracket:
			f.cur.glob = true
		}
		text.WriteByte(c)
		pattern.WriteByte(c)
	}
	if f.split {
		f.cur.globbed(s)
	} else {
		f.cur.shape(text.String())
	}
	f.append(text.String(), pattern.String(), s)
}

// static processes text whose quotes were removed.
func (f *fields) static(text, raw string) {
	f.cur.shape(text)
	f.append(text, escapePattern(text), raw)
}

func (f *fields) append(text, pattern, raw string) {
	c := &f.cur
	c.template.WriteString(text)
	c.pattern.WriteString(pattern)
	c.raw.WriteString(raw)
	c.emptied.WriteString(text)
	if !c.dynamic {
		c.head += text
	}
	for i := range c.values {
		c.values[i] += text
	}
	for i := range c.certain {
		c.certain[i] += text
	}
}

// dyn processes a piece that only bash can expand.
func (f *fields) dyn(raw string, values []string, quoted, number bool) {
	f.dynAll(raw, values, nil, quoted, number)
}

// dynAll is dyn for a piece of which all values may be known.
func (f *fields) dynAll(raw string, values, certain []string, quoted, number bool) {
	c := &f.cur
	c.extend(certain, !quoted && f.split, f.a.setsIFS || f.a.splitsElse)
	if f.a.splitsElse && f.split && !quoted {
		values, number = nil, false
	}
	before := c.template.String()
	kind := HoleText
	switch {
	case number:
		kind = HoleNumber
	case quoted:
		kind = HoleWord
	}
	c.hole(kind, values)
	if number {
		c.template.WriteByte('0') // any digit will do
		c.emptied.WriteByte('0')
	} else {
		c.template.WriteString(raw)
	}
	c.pattern.WriteString(raw)
	c.raw.WriteString(raw)
	if len(values) == 0 {
		c.unsure = true
	} else if !c.unsure {
		old := c.values
		if !c.dynamic {
			old = []string{before}
		}
		c.values = nil
		for _, o := range old {
			for _, v := range values {
				if len(c.values) < maxCandidates {
					c.values = append(c.values, o+v)
				}
			}
		}
	}
	c.dynamic = true
	c.words = c.words || (!quoted && !number && f.split)
	c.notNum = c.notNum || !number
}

func (f *fields) param(p *syntax.ParamExp, quoted bool) {
	if f.a.splitsElse && joinsFields(p) {
		f.dyn(f.a.written(p), nil, quoted, false)
		return
	}
	if quoted && manyWords(p) {
		f.dyn(f.a.written(p), f.a.paramValues(p), false, false)
		return
	}
	f.dynAll(f.a.written(p), f.a.paramValues(p), f.a.certainValues(p), quoted, f.a.isNumber(p))
}

// manyWords reports whether an expansion is several words even when quoted.
func manyWords(p *syntax.ParamExp) bool {
	if p.Param != nil && p.Param.Value == "@" || p.Names != 0 {
		return true
	}
	w, ok := p.Index.(*syntax.Word)
	return ok && w.Lit() == "@"
}

// joinsFields reports whether an expansion is several values, joined by the first
// character of IFS.
func joinsFields(p *syntax.ParamExp) bool {
	w, ok := p.Index.(*syntax.Word)
	return p.Param != nil && p.Param.Value == "*" || ok && w.Lit() == "*"
}

func (f *fields) expansion(p syntax.WordPart, quoted bool) {
	switch p := p.(type) {
	case *syntax.ArithmExp:
		f.dyn(f.a.written(p), nil, quoted, true)
	case *syntax.CmdSubst:
		f.dynAll(f.a.written(p), f.a.output(p.Stmts), f.a.certainOutput(p.Stmts), quoted, false)
	case *syntax.ProcSubst:
		f.dyn(f.a.written(p), nil, true, false)
	default:
		f.dyn(f.a.written(p), nil, quoted, false)
	}
}

// end closes the current word, if there is one.
func (f *fields) end() {
	c := &f.cur
	if c.template.Len() == 0 && !c.quoted && !c.dynamic {
		f.cur = field{}
		return
	}
	w := arg{template: c.template.String(), head: c.head, quoted: c.quoted}
	glob := c.glob && f.split
	switch {
	case !c.dynamic && !glob && !unclearBraces(w.template, c.quoted, f.split):
		w.Word = Word{Text: w.template, Static: true, home: c.home}
	case !c.dynamic && glob:
		w.Word = Word{Text: c.pattern.String(), Pattern: true, Shapes: c.shapes}
	default:
		w.Word = Word{Text: c.raw.String(), Pattern: glob, Shapes: c.shapes}
		if !glob {
			w.facts = f.facts
		}
		w.splits = c.words
		if !c.unclear && !glob {
			w.certain = c.certain
		}
		w.number = !c.notNum
		if !c.unsure {
			w.values = c.values
			w.Candidates = c.values
			if w.splits {
				w.Candidates = splitAll(c.values)
			}
		}
		if rest := c.emptied.String(); c.head == "" && len(rest) > 1 && rest[0] == '-' && (c.unclear || slices.Contains(c.certain, rest) || len(c.certain) == 0) {
			w.emptied = rest
		}
	}
	f.out = append(f.out, w)
	f.cur = field{}
}

func (f *fields) done() []arg {
	f.end()
	return f.out
}

func splitAll(values []string) []string {
	var out []string
	for _, v := range values {
		out = append(out, strings.Fields(v)...)
	}
	return out
}

func escapePattern(s string) string {
	if !strings.ContainsAny(s, `*?[]\`) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`*?[]\`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unescapeDouble removes the escapes that apply inside of double quotes.
func unescapeDouble(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case '$', '`', '"', '\\':
				i++
			case '\n':
				i++
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

package shell

import "strings"

// optionKind is the known effect of an option of a program.
type optionKind int

const (
	unlisted      optionKind = iota // unknown, so it may run something
	harmlessPlain                   // no value
	harmlessValue                   // the value is the rest of the word, or the next one
	harmlessRest                    // the value, if any, is in the same word
	optionRuns
	optionText
	optionStarts
	optionPager
	optionWrites
	optionMakes
	optionLeaves
)

// checkOptions adds the commands and outputs in the options of a plain program.
func (a *analysis) checkOptions(sc *scope, row *options, index int, ws []arg) {
	a.checkOptionsFrom(sc, row, programName(ws[0]), index, 1, ws)
}

// checkOptionsFrom checks the words from an index on. path is the program with
// the subcommands before them.
func (a *analysis) checkOptionsFrom(sc *scope, row *options, path string, index, from int, ws []arg) {
	c := optionCheck{a: a, sc: sc, row: row, path: path, index: index, ws: ws, at: from}
	switch {
	case row.runs == "*":
		c.runs(max(from-1, 1))
		return
	case row.isOpen(), len(ws) == 2 && ws[1].is("--version", "--help"):
		return
	}
	for c.at < len(ws) && !c.done {
		c.word(ws[c.at])
		c.at++
	}
	c.reads()
}

// optionCheck processes the arguments of one program.
type optionCheck struct {
	a     *analysis
	sc    *scope
	row   *options
	path  string // the program with its subcommands
	index int
	ws    []arg
	at    int

	operands int
	coded    bool // an option contains the code that it runs
	ended    bool // options have ended
	done     bool // something unknown runs: the check is complete
}

// runs records that the word at own makes the program run something.
func (c *optionCheck) runs(own int) {
	c.done = true
	c.a.runs(c.sc, c.index, own, c.ws[min(own, len(c.ws)-1)].text(), "it may make "+c.path+" run, load or write something")
}

func (c *optionCheck) word(w arg) {
	switch {
	case c.loads(w):
		c.runs(c.at)
	case c.ended || !strings.HasPrefix(w.head, "-") || w.is("-"):
		c.operand(w)
	case w.is("--"):
		c.ended = true
	case beginsOne(w.head, c.row.allows):
	case strings.HasPrefix(w.head, "--"):
		c.long(w, strings.TrimPrefix(w.template, "--"))
	case c.row.single:
		c.long(w, strings.TrimPrefix(w.template, "-"))
	default:
		c.letters(w)
	}
}

// loads reports whether a word makes the program run something in any position,
// as an option, its value or an operand.
func (c *optionCheck) loads(w arg) bool {
	return c.row.spells(w.template) || beginsOne(w.head, c.row.begins) || c.row.plus && strings.HasPrefix(w.head, "+") || c.handsOn(w)
}

// spells reports whether a text makes the program run something.
func (row *options) spells(text string) bool {
	for part := range strings.FieldsSeq(row.holds) {
		if strings.Contains(text, part) || strings.Contains(strings.ToLower(text), part) {
			return true
		}
	}
	if row.begins != "" && strings.Contains(text, "\n") {
		for line := range strings.Lines(text) {
			if beginsOne(strings.TrimLeft(line, " \t"), row.begins) {
				return true
			}
		}
	}
	return false
}

// handsOn reports whether a word passes on an option that is not known to be
// harmless: in -Wl,-a,b those after the comma are the linker's.
func (c *optionCheck) handsOn(w arg) bool {
	start, program, ok := strings.Cut(c.row.hands, " ")
	if !ok || !strings.HasPrefix(w.head, start) {
		return false
	}
	to := optionCheck{row: optionsOf()[program]}
	for option := range strings.SplitSeq(w.template[len(start):], ",") {
		if strings.HasPrefix(option, "@") || strings.HasPrefix(option, "-") && !to.isHarmless(option) {
			return true
		}
	}
	return !w.Static
}

func (c *optionCheck) operand(w arg) {
	c.operands++
	if c.operands == 1 && w.Static && !c.ended {
		if row := optionsOf()[c.path+" "+w.Text]; row != nil {
			if row.runs == "*" {
				c.runs(c.at)
				return
			}
			c.row, c.path, c.operands = row, c.path+" "+w.Text, 0
			return
		}
	}
	switch {
	case c.operands == 1 && in(c.row.ends, "."):
		c.ended = true
	case c.operands == 1 && w.Static && in(c.row.first, w.Text):
		c.runs(c.at)
	case c.row.alone:
		c.runs(c.at)
	case c.operands == 2 && c.row.second:
		c.a.writes(c.sc.under(c.index, c.at), w)
	case !c.ended && !w.Static:
		for _, v := range w.guesses() {
			if (strings.HasPrefix(v, "-") && !c.isHarmless(v) || c.loads(known(v))) && !c.done {
				c.runs(c.at)
			}
		}
	}
}

// isHarmless reports whether a word that is an option has only effects that the
// row lists as harmless.
func (c *optionCheck) isHarmless(v string) bool {
	switch {
	case v == "-" || v == "--":
		return true
	case c.loads(known(v)):
		return false
	case beginsOne(v, c.row.allows):
		return true
	case c.row.single || strings.HasPrefix(v, "--"):
		name, value, _ := strings.Cut(strings.TrimLeft(v, "-"), "=")
		kind, full := c.row.longOption(name)
		return kind.harmless() && !(in(c.row.formats, full) && c.row.isBad(value))
	}
	for i := 1; i < len(v); i++ {
		switch kind := c.row.letter(v[i]); {
		case !kind.harmless():
			return false
		case kind != harmlessPlain:
			return !(in(c.row.formats, v[i:i+1]) && c.row.isBad(v[i+1:]))
		}
	}
	return true
}

func (k optionKind) harmless() bool { return k >= harmlessPlain && k <= harmlessRest }

// listed finds an option in the lists of those that are not harmless.
func (row *options) listed(matches func(full string) bool) (optionKind, string) {
	for _, l := range []struct {
		list string
		kind optionKind
	}{
		{row.runs, optionRuns}, {row.pagers, optionPager}, {row.texts, optionText}, {row.starts, optionStarts},
		{row.writes, optionWrites}, {row.makes, optionMakes}, {row.leaves, optionLeaves},
	} {
		if l.list == "" {
			continue
		}
		for full := range strings.FieldsSeq(l.list) {
			if matches(full) {
				return l.kind, full
			}
		}
	}
	return unlisted, ""
}

// longOption finds an option by its long name, which may be abbreviated; an
// abbreviation of a harmless one and of another counts as the other.
func (row *options) longOption(name string) (optionKind, string) {
	if name == "" {
		return unlisted, ""
	}
	if kind, full := row.listed(func(full string) bool { return full == name }); kind != unlisted {
		return kind, full
	}
	fine, found := unlisted, ""
	for spec := range strings.FieldsSeq(row.long) {
		full := strings.TrimSuffix(strings.TrimSuffix(spec, "[=]"), "=")
		exact := full == name
		if !exact && (row.single || !strings.HasPrefix(full, name)) {
			continue
		}
		kind := harmlessPlain
		switch {
		case strings.HasSuffix(spec, "[=]"):
			kind = harmlessRest
		case strings.HasSuffix(spec, "="):
			kind = harmlessValue
		}
		if exact {
			return kind, full
		}
		if fine == unlisted || kind != harmlessValue { // ambiguous: the program refuses it
			fine, found = kind, full
		}
	}
	if row.single && row.open {
		return harmlessPlain, name
	}
	if row.single {
		return unlisted, ""
	}
	if kind, full := row.listed(func(full string) bool { return len(full) > 1 && strings.HasPrefix(full, name) }); kind != unlisted {
		return kind, full
	}
	if row.open && fine == unlisted {
		return harmlessPlain, name
	}
	return fine, found
}

// isOpen reports whether no option of the program has a relevant effect.
func (row *options) isOpen() bool {
	return row.open && row.leaves+row.runs+row.holds+row.begins == ""
}

// letter finds a short option.
func (row *options) letter(c byte) optionKind {
	if kind, _ := row.listed(func(full string) bool { return len(full) == 1 && full[0] == c }); kind != unlisted {
		return kind
	}
	switch kind, ok := letterOf(row.short, c); {
	case !ok && row.open:
		return harmlessPlain
	case !ok:
		return unlisted
	case kind == needsValue:
		return harmlessValue
	case kind == attachedValue:
		return harmlessRest
	}
	return harmlessPlain
}

func (c *optionCheck) long(w arg, text string) {
	name, value, attached := strings.Cut(text, "=")
	if !w.Static && !strings.Contains(w.head, "=") {
		if !w.number {
			c.runs(c.at)
		}
		return
	}
	v := dynamic(value)
	if w.Static {
		v = known(value)
	}
	kind, full := c.row.longOption(name)
	if kind == unlisted && name == "help" && !attached && !strings.HasPrefix(c.path, "git ") { // git may run another program to show it
		return
	}
	c.act(kind, full, v, attached)
}

// act applies the effect of an option. Its value is the next word unless
// attached.
func (c *optionCheck) act(kind optionKind, name string, value arg, attached bool) {
	own := c.at
	c.coded = c.coded || in(c.row.codes, name)
	c.ended = c.ended || in(c.row.ends, name)
	next := func() arg {
		if attached {
			return value
		}
		if c.at++; c.at < len(c.ws) {
			return c.ws[c.at]
		}
		return known("")
	}
	if in(c.row.formats, name) && (attached || kind == harmlessValue) {
		c.format(own, value, attached)
	}
	switch kind {
	case unlisted, optionRuns:
		c.runs(own)
	case harmlessValue:
		// If the value is missing or the program is an older one, it may be an
		// option.
		v := next()
		if in(c.row.plain, name) && (!v.Static || strings.ContainsAny(v.Text, `/\`) || strings.HasPrefix(v.Text, ".")) {
			c.runs(own)
			return
		}
		if !attached && (c.loads(v) || strings.HasPrefix(v.head, "-") && c.isDangerous(v.template)) {
			c.runs(own)
		}
	case optionPager:
		if !attached || !value.Static {
			c.runs(own)
			return
		}
		c.a.script(c.sc, c.index, own, known(value.Text+` "$@"`))
	case optionText:
		c.a.script(c.sc, c.index, own, next())
	case optionStarts:
		if v := next(); !v.is("") {
			c.a.child(c.sc, c.index, own, []arg{v, dynamic("…")}, input{})
			if strings.ContainsAny(v.template, " \t") { // some versions split it
				c.a.script(c.sc, c.index, own, v)
			}
		}
	case optionWrites, optionMakes:
		if v := next(); strings.ContainsAny(v.template, c.row.pieces) {
			c.a.writes(c.sc.under(c.index, own), dynamic("…"))
		} else if !v.is("-") { // its output
			before := len(c.a.parts)
			c.a.writes(c.sc.under(c.index, own), v)
			for i := before; i < len(c.a.parts); i++ {
				c.a.parts[i].Product = kind == optionMakes
			}
		}
	case optionLeaves:
		c.a.writes(c.sc.under(c.index, own), dynamic("…"))
	}
}

// format evaluates the value of an option that is a format: the end of the word
// at own, or the next one.
func (c *optionCheck) format(own int, value arg, attached bool) {
	start := 0
	switch {
	case attached:
		start = len(c.ws[own].template) - len(value.template)
	case own+1 == len(c.ws):
		return
	default:
		own++
	}
	w := c.ws[own]
	isBad := func(text string) bool { return c.row.isBad(text) || len(text) > start && c.row.isBad(text[start:]) }
	whole := len(w.values) > 0 && len(w.values) < maxCandidates
	switch {
	case w.Static && isBad(w.Text), !w.Static && !w.number && !whole && unknownVerb(w.template):
		c.runs(own)
	default:
		c.a.suspects(c.sc, c.index, own, w, isBad, "it may make "+c.path+" run, load or write something")
	}
}

// isDangerous reports whether a word is listed as an option that is not harmless.
func (c *optionCheck) isDangerous(v string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(v, "-"), "=")
	isName := func(full string) bool { return full == name }
	if !c.row.single && !strings.HasPrefix(v, "--") {
		isName = func(full string) bool {
			before, _, ok := strings.Cut(v[1:], full)
			return len(full) == 1 && ok && !strings.ContainsFunc(before, func(r rune) bool { return r > 0x7f || c.row.letter(byte(r)) > harmlessPlain })
		}
	}
	kind, _ := c.row.listed(isName)
	return kind != unlisted
}

// letters parses a word of short options.
func (c *optionCheck) letters(w arg) {
	for i := 1; i < len(w.template); i++ {
		if i >= len(w.head) {
			if !w.number {
				c.runs(c.at)
			}
			return
		}
		rest := w.template[i+1:]
		v := dynamic(rest)
		if w.Static {
			v = known(rest)
		}
		kind := c.row.letter(w.template[i])
		switch {
		case kind == harmlessPlain:
			continue
		case rest == "" && c.at+1 < len(c.ws) && c.ws[c.at+1].Static && beginsOne("-"+w.template[i:]+c.ws[c.at+1].Text, c.row.allows):
			c.at++
			return
		}
		c.act(kind, w.template[i:i+1], v, rest != "")
		if kind != optionLeaves {
			return
		}
	}
}

// reads records that a program runs its input, if that makes, or may make, it run
// another program.
func (c *optionCheck) reads() {
	in := c.sc.fed
	if c.done || c.coded || c.row.reads == 0 || c.operands >= c.row.reads {
		return
	}
	if !in.given || in.known && c.row.holds+c.row.begins != "" && !c.row.spells(in.text+"\n") {
		return
	}
	c.a.runs(c.sc, c.index, len(c.ws), joinText(c.ws), "the input of "+c.path+" may make it run a command")
}

// in reports whether a name is in a list separated by blanks.
func in(list, name string) bool {
	if name == "" || strings.IndexFunc(name, isBlank) >= 0 {
		return false
	}
	for from := 0; ; from++ {
		at := strings.Index(list[from:], name)
		if at < 0 {
			return false
		}
		from += at
		end := from + len(name)
		if (from == 0 || isBlank(rune(list[from-1]))) && (end == len(list) || isBlank(rune(list[end]))) {
			return true
		}
	}
}

func isBlank(c rune) bool { return c == ' ' || c == '\t' || c == '\n' }

func beginsOne(s, list string) bool {
	for part := range strings.FieldsSeq(list) {
		if strings.HasPrefix(s, part) {
			return true
		}
	}
	return false
}

package shell

import (
	"slices"
	"strings"
)

// sed adds sed with the commands and outputs of its script.
func (a *analysis) sed(sc *scope, ws []arg) int {
	index := a.plain(sc, ws)
	inPlace, hasScript, ended, backup := 0, false, false, known("")
	var operands []arg
	script := func(own int, w arg) {
		hasScript = true
		a.sedScript(sc, index, own, w)
	}
	for i := 1; i < len(ws); i++ {
		w := ws[i]
		name, value, attached := strings.Cut(w.template, "=")
		switch {
		case !ended && !w.Static && slices.ContainsFunc(w.guesses(), func(v string) bool { return len(v) > 1 && v[0] == '-' }):
			a.runs(sc, index, i, w.text(), "it may be an option that runs or writes something")
			operands = append(operands, w)
		case ended || !strings.HasPrefix(w.head, "-") || w.is("-"):
			operands = append(operands, w)
		case w.is("--"):
			ended = true
		case strings.HasPrefix(w.head, "--"):
			switch {
			case len(name) < 3 || !w.Static && !attached:
				a.runs(sc, index, i, w.text(), "it may be an option that runs or writes something")
			case strings.HasPrefix("--in-place", name):
				inPlace = i
				if backup = known(value); !w.Static {
					backup = dynamic(value)
				}
			case strings.HasPrefix("--expression", name):
				v := known(value)
				if !w.Static {
					v = dynamic(value)
				}
				if !attached && i+1 < len(ws) {
					v = ws[i+1]
					i++
				}
				script(i, v)
			case strings.HasPrefix("--file", name) && name != "--f":
				hasScript = true
				a.runs(sc, index, i, w.text(), "the effect of the sed script is unknown")
				if !attached {
					i++
				}
			case strings.HasPrefix("--line-length", name) && name != "--l" && !attached:
				i++
			}
		default:
			i = a.sedLetters(sc, index, i, ws, &inPlace, &backup, &hasScript, script)
		}
	}
	if !hasScript && len(operands) > 0 {
		own := 1
		for own < len(ws)-1 && ws[own].Text != operands[0].Text {
			own++
		}
		script(own, operands[0])
		operands = operands[1:]
	}
	if inPlace > 0 {
		for _, f := range operands {
			a.writes(sc.under(index, inPlace), f)
			if backup.Static && backup.Text != "" {
				a.writes(sc.under(index, inPlace), f.followed(backup.Text))
			}
		}
		if !backup.Static || strings.ContainsAny(backup.Text, "*/") { // a path, in which * stands for the file's name
			a.writes(sc.under(index, inPlace), dynamic("…"))
		}
	}
	return index
}

// followed returns a file name with a suffix.
func (w arg) followed(suffix string) arg {
	join := func(list []string) []string {
		out := make([]string, len(list))
		for i, s := range list {
			out[i] = s + suffix
		}
		return out
	}
	w.Text, w.template = w.Text+suffix, w.template+suffix
	w.Candidates, w.Shapes, w.values = join(w.Candidates), join(w.Shapes), join(w.values)
	if w.Static {
		w.head, w.Candidates, w.Shapes, w.values = w.Text, nil, nil, nil
	}
	return w
}

// sedLetters parses a word of short options and returns the index of the last
// word that belongs to it.
func (a *analysis) sedLetters(sc *scope, index, i int, ws []arg, inPlace *int, backup *arg, hasScript *bool, script func(int, arg)) int {
	w := ws[i]
	for j := 1; j < len(w.template); j++ {
		if j >= len(w.head) {
			a.runs(sc, index, i, w.text(), "it may be an option that runs or writes something")
			return i
		}
		rest := w.template[j+1:]
		v := known(rest)
		if !w.Static {
			v = dynamic(rest)
		}
		switch w.head[j] {
		case 'i', 'I': // the rest is a suffix
			*inPlace, *backup = i, v
			return i
		case 'e':
			if rest == "" && i+1 < len(ws) {
				script(i, ws[i+1])
				return i + 1
			}
			script(i, v)
			return i
		case 'f':
			*hasScript = true
			a.runs(sc, index, i, w.text(), "the effect of the sed script is unknown")
			if rest == "" {
				return i + 1
			}
			return i
		case 'l':
			if rest == "" {
				return i + 1
			}
			return i
		}
	}
	return i
}

func (a *analysis) sedScript(sc *scope, index, own int, w arg) {
	if !w.Static && w.certain != nil {
		for _, v := range w.certain {
			a.sedScript(sc, index, own, known(v))
		}
		return
	}
	if !w.Static && !w.number {
		a.runs(sc, index, own, w.text(), "the effect of the sed script is unknown")
		return
	}
	p := sedParser{s: w.template}
	p.run()
	if p.unsure {
		a.runs(sc, index, own, w.text(), "the sed script may run commands")
	}
	for _, f := range p.files {
		a.writes(sc.under(index, own), known(f))
	}
}

// sedParser scans a sed script for effects outside of it: the e command and flag
// run, w writes. Unknown syntax makes it unsure.
type sedParser struct {
	s      string
	i      int
	unsure bool
	files  []string // that it writes
	reads  bool     // it reads a file
}

// SedReadsOnly reports whether a script of sed certainly runs no command, and
// neither reads nor writes a file.
func SedReadsOnly(script string) bool {
	p := sedParser{s: script}
	p.run()
	return !p.unsure && !p.reads && len(p.files) == 0
}

func (p *sedParser) run() {
	for p.i < len(p.s) && !p.unsure {
		p.skip(" \t\n;{}")
		if p.i < len(p.s) {
			p.address()
			p.command()
		}
	}
}

func (p *sedParser) skip(set string) {
	for p.i < len(p.s) && strings.IndexByte(set, p.s[p.i]) >= 0 {
		p.i++
	}
}

// address skips addresses: numbers, $, /re/, \cREc, with ranges and steps.
func (p *sedParser) address() {
	for p.i < len(p.s) && !p.unsure {
		switch c := p.s[p.i]; {
		case strings.IndexByte("0123456789$,~+! \t", c) >= 0:
			p.i++
		case c == '/':
			p.i++
			p.until('/')
			p.skip("IM")
		case c == '\\' && p.i+1 < len(p.s):
			p.i += 2
			p.until(p.s[p.i-1])
			p.skip("IM")
		default:
			return
		}
	}
}

// until moves after the next delimiter. A bracket expression with one in it is
// ambiguous.
func (p *sedParser) until(delimiter byte) {
	bracket := false
	for ; p.i < len(p.s); p.i++ {
		switch c := p.s[p.i]; {
		case c == '\\':
			p.i++
		case c == delimiter:
			p.unsure = p.unsure || bracket || delimiter == '\\' || delimiter == '\n'
			p.i++
			return
		case c == '[' && !bracket:
			bracket = true
			if strings.HasPrefix(p.s[p.i+1:], "^") {
				p.i++
			}
			if strings.HasPrefix(p.s[p.i+1:], "]") { // the first one is literal
				p.i++
			}
		case c == ']':
			bracket = false
		}
	}
	p.unsure = true
}

func (p *sedParser) line() string {
	start := p.i
	if end := strings.IndexByte(p.s[start:], '\n'); end >= 0 {
		p.i = start + end + 1
		return p.s[start : p.i-1]
	}
	p.i = len(p.s)
	return p.s[start:]
}

func (p *sedParser) command() {
	if p.i >= len(p.s) {
		return
	}
	c := p.s[p.i]
	p.i++
	switch c {
	case '{', '}', ';', '\n', '=', 'd', 'D', 'F', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z':
	case '#':
		p.line()
	case 'r', 'R':
		p.reads = true
		p.line()
	case 'q', 'Q', 'l', 'L':
		p.skip(" \t0123456789")
	case 'b', 't', 'T', ':', 'v':
		p.skip(" \t")
		for p.i < len(p.s) && strings.IndexByte("; \t\n}", p.s[p.i]) < 0 {
			p.i++
		}
	case 'a', 'i', 'c':
		for {
			text := p.line()
			if backslashes := len(text) - len(strings.TrimRight(text, `\`)); backslashes%2 == 0 || p.i >= len(p.s) {
				return
			}
		}
	case 'w', 'W':
		p.files = append(p.files, strings.TrimLeft(p.line(), " \t"))
	case 's', 'y':
		p.substitute(c == 's')
	default: // e, and unknown ones
		p.unsure = true
	}
}

func (p *sedParser) substitute(flags bool) {
	if p.i >= len(p.s) {
		p.unsure = true
		return
	}
	delimiter := p.s[p.i]
	p.i++
	p.until(delimiter)
	if p.unsure {
		return
	}
	p.replacement(delimiter)
	for flags && p.i < len(p.s) && !p.unsure {
		switch c := p.s[p.i]; {
		case strings.IndexByte("gpiImM0123456789", c) >= 0:
			p.i++
		case c == 'w':
			p.i++
			p.files = append(p.files, strings.TrimLeft(p.line(), " \t"))
			return
		case strings.IndexByte(" \t;\n}#", c) >= 0:
			return
		default:
			p.unsure = true
		}
	}
}

// replacement moves after the right side of a substitution, where brackets have
// no meaning.
func (p *sedParser) replacement(delimiter byte) {
	for ; p.i < len(p.s); p.i++ {
		switch p.s[p.i] {
		case '\\':
			p.i++
		case delimiter:
			p.i++
			return
		}
	}
	p.unsure = true
}

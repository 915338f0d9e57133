package shell

import (
	"strings"
)

// awk adds awk with the commands and outputs of its program.
func (a *analysis) awk(sc *scope, ws []arg) int {
	index := a.plain(sc, ws)
	hasProgram := false
	for i := 1; i < len(ws); i++ {
		w := ws[i]
		switch {
		case w.is("--"):
			if !hasProgram && i+1 < len(ws) {
				a.awkProgram(sc, index, i+1, ws[i+1])
			}
			return index
		case w.is("-F", "-v", "--field-separator", "--assign"):
			i++
		case w.is("-e", "--source"):
			hasProgram = true
			if i++; i < len(ws) {
				a.awkProgram(sc, index, i-1, ws[i])
			}
		case strings.HasPrefix(w.head, "--source="):
			hasProgram = true
			v := w
			v.template = strings.TrimPrefix(w.template, "--source=")
			a.awkProgram(sc, index, i, v)
		case strings.HasPrefix(w.head, "-F"), strings.HasPrefix(w.head, "-v"), strings.HasPrefix(w.head, "--field-separator="),
			strings.HasPrefix(w.head, "--assign="), w.is("-b", "-c", "-C", "-h", "-M", "-n", "-N", "-O", "-P", "-r", "-s", "-S", "-t", "-V",
				"--posix", "--re-interval", "--traditional", "--sandbox", "--csv", "-k", "--characters-as-bytes", "--non-decimal-data", "--version", "--help", "--bignum", "--lint"):
		case strings.HasPrefix(w.head, "-") && len(w.head) > 1 || !w.Static && w.splits && !hasProgram:
			a.runs(sc, index, i, w.text(), "the option may load a program that can run commands")
			return index
		default:
			if !hasProgram {
				a.awkProgram(sc, index, i, w)
			}
			return index
		}
	}
	return index
}

func (a *analysis) awkProgram(sc *scope, index, own int, w arg) {
	if !w.Static && !w.number {
		a.runs(sc, index, own, w.text(), "the effect of the awk program is unknown")
		return
	}
	l := awkLexer{text: w.template}
	l.run()
	at := sc.under(index, own)
	if l.runs {
		u := a.unknown(at, w.text(), "the awk program may run commands")
		guess := at.under(u, 0)
		guess.guess = true
		guess.depth++
		for _, s := range l.strings {
			a.parseText(guess.inside(), s, s)
		}
	}
	for _, f := range l.files {
		a.writes(at, f)
	}
}

// AwkReadsOnly reports whether an awk program certainly runs no command, writes no
// file, and reads nothing but its operands.
func AwkReadsOnly(program string) bool {
	l := awkLexer{text: program}
	if l.run(); l.runs || len(l.files) > 0 {
		return false
	}
	for _, name := range []string{"getline", "system", "ENVIRON", "ARGV", "PROCINFO", "SYMTAB", "FUNCTAB"} {
		if strings.Contains(program, name) {
			return false
		}
	}
	return true
}

// awkLexer scans an awk program for effects outside of it: system, pipes, output
// to files. It does not parse the grammar; in doubt, runs is set.
type awkLexer struct {
	text    string
	runs    bool
	files   []arg
	strings []string // possible commands

	operand bool // the last token ends an operand, so that / divides
	print   bool // inside a print statement
	depth   int  // of parentheses, inside of it
}

func (l *awkLexer) run() {
	s := l.text
	for i := 0; i < len(s) && !l.runs; {
		c := s[i]
		switch {
		case c == '"':
			value, end, ok := awkString(s, i)
			if !ok {
				l.runs = true
				return
			}
			l.strings = append(l.strings, value)
			i, l.operand = end, true
		case c == '/' && !l.operand:
			end, ok := awkRegexp(s, i)
			if !ok {
				l.runs = true
				return
			}
			i, l.operand = end, true
		case c == '#':
			for i < len(s) && s[i] != '\n' {
				i++
			}
		case c == '\\' && i+1 < len(s) && s[i+1] == '\n':
			i += 2
		case isNameByte(c):
			end := i
			for end < len(s) && (isNameByte(s[end]) || s[end] == '.') {
				end++
			}
			l.word(s[i:end])
			i = end
		default:
			i = l.punctuation(i)
		}
	}
	if !l.runs {
		l.strings = nil
	}
}

func (l *awkLexer) word(w string) {
	l.operand = true
	switch w {
	case "system":
		l.runs = true
		l.collect()
	case "print", "printf":
		l.print, l.depth = true, 0
	}
}

// collect adds the strings of the whole program as guesses at its commands.
func (l *awkLexer) collect() {
	for i := 0; i < len(l.text); i++ {
		if l.text[i] != '"' {
			continue
		}
		value, end, ok := awkString(l.text, i)
		if !ok {
			return
		}
		l.strings = append(l.strings, value)
		i = end - 1
	}
}

// punctuation processes one character and returns the position of the next token.
func (l *awkLexer) punctuation(i int) int {
	s, c := l.text, l.text[i]
	next := byte(0)
	if i+1 < len(s) {
		next = s[i+1]
	}
	switch c {
	case '@': // an indirect call, or another file
		l.runs = true
	case '|':
		if next == '|' {
			l.operand = false
			return i + 2
		}
		l.runs = true
		l.collect()
	case '>':
		if next == '=' {
			l.operand = false
			return i + 2
		}
		if l.print && l.depth == 0 {
			return l.file(i + 1)
		}
		l.operand = false
	case '(', '[':
		l.depth++
		l.operand = false
	case ')', ']':
		l.depth--
		l.operand = true
	case ';', '{', '}':
		l.print, l.depth, l.operand = false, 0, false
	case '\n': // which ends a statement, unless that continues
		before := strings.TrimRight(s[:i], " \t\n")
		if !strings.HasSuffix(before, ",") && !strings.HasSuffix(before, "&&") && !strings.HasSuffix(before, "||") {
			l.print, l.depth = false, 0
		}
		l.operand = false
	case ' ', '\t':
	case '+', '-':
		if next == c { // the operand, if any, is before or after it
			return i + 2
		}
		l.operand = false
	default:
		l.operand = false
	}
	return i + 1
}

// file processes the target of a print statement.
func (l *awkLexer) file(i int) int {
	s := l.text
	for i < len(s) && (s[i] == '>' || s[i] == ' ' || s[i] == '\t') {
		i++
	}
	target := dynamic("…")
	if i < len(s) && s[i] == '"' {
		value, end, ok := awkString(s, i)
		if !ok {
			l.runs = true
			return len(s)
		}
		after := strings.TrimLeft(s[end:], " \t")
		if after == "" || strings.IndexByte(";}\n#", after[0]) >= 0 {
			target = known(value)
		}
		i = end
	}
	if strings.HasPrefix(target.Text, "/inet") {
		l.runs = true
	}
	l.files = append(l.files, target)
	l.operand = true
	return i
}

// awkString reads a string that begins at i.
func awkString(s string, i int) (value string, end int, ok bool) {
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			j++
		case '"':
			return unescapeANSI(s[i+1 : j]), j + 1, true
		}
	}
	return "", len(s), false
}

// awkRegexp reads a regular expression that begins at i. Programs differ on one
// with a slash in brackets.
func awkRegexp(s string, i int) (end int, ok bool) {
	bracket := false
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			j++
		case '\n':
			return 0, false
		case '[':
			bracket = true
		case ']':
			bracket = false
		case '/':
			return j + 1, !bracket
		}
	}
	return 0, false
}

package process

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Plain returns terminal output as the text that a person would end up
// seeing: escape sequences and control characters are gone, what a carriage
// return or a backspace went back over is overwritten, line ends are \n. A NUL
// is shown as ␀, what is not UTF-8 as U+FFFD. Plain text comes back as it is.
func Plain(s string) string {
	if isPlain(s) {
		return s
	}
	p := plainer{s: s}
	p.b.Grow(len(s))
	for len(p.s) > 0 {
		p.step()
	}
	p.flush()
	return p.b.String()
}

func isPlain(s string) bool {
	for _, r := range s {
		if r != '\n' && r != '\t' && control(r) || r == utf8.RuneError {
			return false
		}
	}
	return true
}

func control(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// plainer goes through s line by line.
type plainer struct {
	s    string // what is left
	b    strings.Builder
	line []rune
	at   int // the cursor's column in line, at most its length
}

func (p *plainer) step() {
	r, n := utf8.DecodeRuneInString(p.s)
	p.s = p.s[n:]
	switch {
	case r == '\n':
		p.flush()
		p.b.WriteByte('\n')
	case r == '\r':
		p.at = 0
	case r == '\b':
		p.at = max(p.at-1, 0)
	case r == 0x1b:
		p.escape()
	case r == 0:
		p.put('␀')
	case r != '\t' && control(r):
	default:
		p.put(r)
	}
}

func (p *plainer) put(r rune) {
	if p.at < len(p.line) {
		p.line[p.at] = r
	} else {
		p.line = append(p.line, r)
	}
	p.at++
}

func (p *plainer) flush() {
	for _, r := range p.line {
		p.b.WriteRune(r)
	}
	p.line, p.at = p.line[:0], 0
}

// escape takes an escape sequence off, its first byte being gone already.
// One that is not finished ends with its line.
func (p *plainer) escape() {
	if p.s == "" {
		return
	}
	switch c := p.s[0]; {
	case c == '[':
		p.s = p.s[1:]
		p.csi()
	case strings.IndexByte("]PX^_", c) >= 0: // a string for the terminal, as a title
		p.skipString()
	case c >= 0x20 && c <= 0x7e:
		for len(p.s) > 0 && p.s[0] >= 0x20 && p.s[0] <= 0x2f {
			p.s = p.s[1:]
		}
		if len(p.s) > 0 && p.s[0] >= 0x30 && p.s[0] <= 0x7e {
			p.s = p.s[1:]
		}
	}
}

func (p *plainer) csi() {
	n := 0
	for n < len(p.s) && p.s[n] >= 0x20 && p.s[n] <= 0x3f {
		n++
	}
	arguments := p.s[:n]
	p.s = p.s[n:]
	if p.s == "" || p.s[0] < 0x40 || p.s[0] > 0x7e {
		return
	}
	final := p.s[0]
	p.s = p.s[1:]
	if final != 'K' { // erase in the line; nothing else changes what is in it
		return
	}
	switch arguments {
	case "", "0":
		p.line = p.line[:p.at]
	case "1":
		for i := range p.line[:p.at] {
			p.line[i] = ' '
		}
	case "2":
		for i := range p.line[:p.at] {
			p.line[i] = ' '
		}
		p.line = p.line[:p.at]
	}
}

func (p *plainer) skipString() {
	for i := 0; i < len(p.s); i++ {
		switch p.s[i] {
		case '\a':
			p.s = p.s[i+1:]
			return
		case '\n':
			p.s = p.s[i:]
			return
		case 0x1b:
			p.s = strings.TrimPrefix(p.s[i+1:], "\\")
			return
		}
	}
	p.s = ""
}

// text is the Plain of an output, or a note where it is no text. b is the
// output or its beginning, total the length of the output in bytes.
func text(b []byte, total int64) string {
	if binary(b) {
		return fmt.Sprintf("[%d bytes that are no text]", total)
	}
	return Plain(string(b))
}

// binary reports whether more than a tenth of the first characters of b stand
// in no text.
func binary(b []byte) bool {
	const looked = 4096
	odd, all := 0, 0
	for i := 0; i < len(b) && i < looked; all++ {
		r, n := utf8.DecodeRune(b[i:])
		if n == 1 && r == utf8.RuneError || control(r) && !strings.ContainsRune("\a\b\t\n\v\f\r\x1b", r) {
			odd++
		}
		i += n
	}
	return all >= 20 && odd*10 > all
}

// Package plaintext converts the output of programs for a terminal into plain text.
package plaintext

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Of returns terminal output as the text that a user finally sees. Escape sequences and control
// characters are removed, text that the cursor returned to, in its line or in the last 40 lines, is
// overwritten, and line ends are \n. Text that clearing the screen removed is kept before the rest.
// A NUL becomes ␀, and invalid UTF-8 becomes U+FFFD. Plain text is returned unchanged.
func Of(s string) string {
	if isPlain(s) {
		return s
	}
	p := plainer{s: s, lines: [][]rune{nil}}
	p.b.Grow(len(s))
	for len(p.s) > 0 {
		p.step()
	}
	p.emit(len(p.lines))
	return p.b.String()
}

func isPlain(s string) bool {
	for _, r := range s {
		if r != '\n' && r != '\t' && Control(r) || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// Control reports whether r is a control character.
func Control(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// The size of the screen. It has at least one line; lines may be longer than it is wide.
const (
	screenRows = 40
	screenCols = 120
)

// plainer renders s on a screen with a cursor. Lines that have scrolled off the top are final.
type plainer struct {
	s     string // the remaining input
	b     strings.Builder
	done  bool     // b ends with a line, so a line end comes next
	lines [][]rune // the screen
	at    place    // the cursor
	saved place
}

// place is a position on the screen: an existing line, and a column that may lie beyond its end.
type place struct{ row, col int }

func (p *plainer) step() {
	r, n := utf8.DecodeRuneInString(p.s)
	p.s = p.s[n:]
	switch {
	case r == '\n':
		p.down()
		p.at.col = 0
	case r == '\r':
		p.at.col = 0
	case r == '\b':
		p.at.col = max(p.at.col-1, 0)
	case r == 0x1b:
		p.escape()
	case r == 0:
		p.put('␀')
	case r != '\t' && Control(r):
	default:
		p.put(r)
	}
}

func (p *plainer) put(r rune) {
	line := &p.lines[p.at.row]
	for len(*line) < p.at.col {
		*line = append(*line, ' ')
	}
	if p.at.col < len(*line) {
		(*line)[p.at.col] = r
	} else {
		*line = append(*line, r)
	}
	p.at.col++
}

// down moves to the next line, which may be new.
func (p *plainer) down() {
	if p.at.row++; p.at.row < len(p.lines) {
		return
	}
	p.lines = append(p.lines, nil)
	if len(p.lines) > screenRows {
		p.emit(1)
		p.lines = p.lines[1:]
		p.at.row--
		p.saved.row = max(p.saved.row-1, 0)
	}
}

// emit moves the first n lines of the screen to b.
func (p *plainer) emit(n int) {
	for _, line := range p.lines[:n] {
		if p.done {
			p.b.WriteByte('\n')
		}
		p.done = true
		for _, r := range line {
			p.b.WriteRune(r)
		}
	}
}

// clear starts an empty screen below the existing text.
func (p *plainer) clear() {
	n := len(p.lines)
	for n > 0 && len(p.lines[n-1]) == 0 {
		n--
	}
	p.emit(n)
	p.lines, p.at, p.saved = [][]rune{nil}, place{}, place{}
}

// goTo moves to a line and a column of the screen, or to the nearest existing ones.
func (p *plainer) goTo(row, col int) {
	row = min(max(row, 0), screenRows-1)
	for len(p.lines) <= row {
		p.lines = append(p.lines, nil)
	}
	p.at = place{row, min(max(col, 0), max(len(p.lines[row]), screenCols-1))}
}

// escape consumes an escape sequence whose first byte is already consumed. An unfinished one ends
// with its line.
func (p *plainer) escape() {
	if p.s == "" {
		return
	}
	switch c := p.s[0]; {
	case c == '[':
		p.s = p.s[1:]
		p.csi()
	case strings.IndexByte("]PX^_", c) >= 0: // a string for the terminal, such as a title
		p.skipString()
	case c >= 0x20 && c <= 0x2f: // more than two bytes, such as a character set
		for len(p.s) > 0 && p.s[0] >= 0x20 && p.s[0] <= 0x2f {
			p.s = p.s[1:]
		}
		if len(p.s) > 0 && p.s[0] >= 0x30 && p.s[0] <= 0x7e {
			p.s = p.s[1:]
		}
	case c >= 0x30 && c <= 0x7e:
		p.s = p.s[1:]
		switch c {
		case '7':
			p.saved = p.at
		case '8':
			p.goTo(p.saved.row, p.saved.col)
		case 'c':
			p.clear()
		}
	}
}

// csi consumes a control sequence, and applies those that move the cursor or erase.
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
	switch final {
	case 'h', 'l':
		if arguments == "?1049" || arguments == "?1047" || arguments == "?47" { // switches to the alternate screen, or back
			p.clear()
		}
		return
	case 'J', 'K':
		p.erase(final, arguments)
		return
	}
	first, second := numbers(arguments)
	by := max(first, 1)
	switch final {
	case 'A', 'F':
		p.goTo(p.at.row-by, p.at.col)
	case 'B', 'E':
		p.goTo(min(p.at.row+by, len(p.lines)-1), p.at.col)
	case 'C':
		p.goTo(p.at.row, p.at.col+by)
	case 'D':
		p.goTo(p.at.row, p.at.col-by)
	case 'G':
		p.goTo(p.at.row, first-1)
	case 'd':
		p.goTo(first-1, p.at.col)
	case 'H', 'f':
		p.goTo(first-1, second-1)
	case 's':
		p.saved = p.at
	case 'u':
		p.goTo(p.saved.row, p.saved.col)
	}
	if final == 'E' || final == 'F' {
		p.at.col = 0
	}
}

// numbers returns the first two arguments of a control sequence; a missing one is 0.
func numbers(arguments string) (first, second int) {
	one, rest, _ := strings.Cut(arguments, ";")
	two, _, _ := strings.Cut(rest, ";")
	const most = 9999
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			return 0
		}
		return min(n, most)
	}
	return number(one), number(two)
}

// erase erases a part of the line or of the screen.
func (p *plainer) erase(what byte, arguments string) {
	line := &p.lines[p.at.row]
	before := min(p.at.col, len(*line))
	switch {
	case arguments == "" || arguments == "0":
		*line = (*line)[:before]
		if what == 'J' {
			p.lines = p.lines[:p.at.row+1]
		}
	case what == 'J' && (arguments == "2" || arguments == "3"):
		p.clear()
	case what == 'K' && arguments == "1":
		for i := range before {
			(*line)[i] = ' '
		}
	case what == 'K' && arguments == "2":
		*line = (*line)[:0]
	}
}

// skipString consumes a string for the terminal.
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

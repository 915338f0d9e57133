package display

import (
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/cli/theme"
)

// ANSIFilter filters the output of a program: it keeps text, line feeds, carriage
// returns, tabs and, with Colour, the sequences that set colours and styles. It drops
// other sequences (cursor, screen, title, clipboard, modes), control characters and
// bidirectional marks. A sequence may be split over several pieces. The zero value is
// ready for use, without colour. It is not safe for concurrent use.
type ANSIFilter struct {
	Colour bool

	state  ansiState
	params []byte // of a control sequence
	other  bool   // the control sequence does not set a style
	styled bool   // a style is active
	open   bool   // the last line is not ended
	rest   string // the beginning of a character
}

// ansiState is the position of an [ANSIFilter] in a sequence.
type ansiState int

const (
	ansiText    ansiState = iota
	ansiEscape            // after ESC
	ansiControl           // in a control sequence, ESC [
	ansiString            // in a string, such as a title or clipboard content
)

// maxStyle is the maximum length of a style sequence.
const maxStyle = 64

// Filter returns the displayable part of the next piece of output.
func (f *ANSIFilter) Filter(piece string) string {
	piece = f.rest + piece
	f.rest = ""
	var b strings.Builder
	b.Grow(len(piece))
	for i := 0; i < len(piece); {
		r, n := utf8.DecodeRuneInString(piece[i:])
		if r == utf8.RuneError && !utf8.FullRuneInString(piece[i:]) {
			f.rest = piece[i:]
			break
		}
		i += n
		f.step(&b, r)
	}
	return b.String()
}

// End returns the text that completes the output: it resets active styles and ends
// the last line.
func (f *ANSIFilter) End() string {
	text := ""
	if f.styled {
		text = theme.Reset
	}
	if f.open {
		text += "\n"
	}
	*f = ANSIFilter{Colour: f.Colour}
	return text
}

// Open reports whether the output so far ends within a line.
func (f *ANSIFilter) Open() bool { return f.open }

// step handles the next character.
func (f *ANSIFilter) step(b *strings.Builder, r rune) {
	switch { // these end any sequence
	case r == '\x1b':
		f.state = ansiEscape
		return
	case r == '\u009b':
		f.control()
		return
	case r == '\u0090' || r == '\u0098' || r >= '\u009d' && r <= '\u009f':
		f.state = ansiString
		return
	case f.state != ansiText && (r == '\n' || r == '\x18' || r == '\x1a' || r == '\u009c'):
		f.state = ansiText // also a line feed, so that an unterminated sequence hides at most one line
	}
	switch f.state {
	case ansiText:
		f.text(b, r)
	case ansiEscape:
		f.escape(r)
	case ansiControl:
		f.controlStep(b, r)
	case ansiString:
		if r == '\a' {
			f.state = ansiText
		}
	}
}

func (f *ANSIFilter) text(b *strings.Builder, r rune) {
	switch {
	case r == '\n':
		f.open = false
	case r == '\r':
	case Obeyed(r):
		return
	default:
		f.open = true
	}
	b.WriteRune(r)
}

// escape handles the character after ESC.
func (f *ANSIFilter) escape(r rune) {
	switch {
	case r == '[':
		f.control()
	case strings.ContainsRune("]PX^_", r):
		f.state = ansiString
	case r >= ' ' && r <= '/': // one more follows
	default:
		f.state = ansiText
	}
}

// control starts a control sequence.
func (f *ANSIFilter) control() {
	f.state, f.params, f.other = ansiControl, f.params[:0], false
}

func (f *ANSIFilter) controlStep(b *strings.Builder, r rune) {
	switch {
	case r >= '0' && r <= ';' && len(f.params) < maxStyle:
		f.params = append(f.params, byte(r))
	case r >= ' ' && r <= '?':
		f.other = true
	case r < ' ' || r == '\x7f': // ignored inside
	default:
		f.state = ansiText
		if r == 'm' && !f.other && f.Colour {
			f.styled = strings.Trim(string(f.params), "0;") != ""
			b.WriteString("\x1b[" + string(f.params) + "m")
		}
	}
}

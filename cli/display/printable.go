// Package display makes foreign text safe for a terminal and fits it to the
// terminal's width.
package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
)

// Printable is [escape.Text]: it escapes control characters.
func Printable(s string) string { return escape.Text(s) }

// Line is [escape.Line]: Printable on one line.
func Line(s string) string { return escape.Line(s) }

// SpellOut escapes the characters for which meant returns true, and invalid bytes.
func SpellOut(s string, meant func(rune) bool) string {
	if !strings.ContainsFunc(s, meant) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<%02X>", s[i])
		case meant(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// Obeyed reports whether r is a terminal control character or is invisible.
func Obeyed(r rune) bool { return escape.Obeyed(r) }

// Control reports whether r is a control character other than a line feed or a tab.
func Control(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }

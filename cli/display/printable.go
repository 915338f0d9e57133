// Package display makes the text of others safe to show in a terminal, and fits
// it into the columns that are there.
package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
)

// Printable is [escape.Text]: text that shows what it holds.
func Printable(s string) string { return escape.Text(s) }

// Line is [escape.Line]: Printable in one line.
func Line(s string) string { return escape.Line(s) }

// SpellOut spells out the characters that are meant, and bytes that are none.
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

// Obeyed reports whether a terminal acts on r, or shows nothing of it.
func Obeyed(r rune) bool { return escape.Obeyed(r) }

// Control reports whether r is a control character, but for those of layout.
func Control(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }

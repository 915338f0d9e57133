// Package display makes the text of others safe to show in a terminal, and fits
// it into the columns that are there.
package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns text that shows what it holds: whatever a terminal would
// obey instead of show (control characters, and the marks that turn the
// direction of writing) is spelled out, as <U+001B>, and so are bytes that are no
// text, as <9B>. Line feeds and tabs stay.
func Printable(s string) string { return SpellOut(s, Obeyed) }

// Line joins s to a line that is safe to show; blanks, tabs and line feeds become
// one blank each run.
func Line(s string) string { return Printable(strings.Join(strings.Fields(s), " ")) }

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

// Obeyed reports whether a terminal acts on r.
func Obeyed(r rune) bool {
	return Control(r) || unicode.Is(unicode.Cf, r) && r != '\u200d'
}

// Control reports whether r is a control character, but for those of layout.
func Control(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }

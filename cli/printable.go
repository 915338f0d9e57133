package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable returns text that shows what it holds: whatever a terminal would
// obey instead of show (control characters, and the marks that turn the
// direction of writing) is spelled out. Line feeds and tabs stay.
func printable(s string) string { return spellOut(s, obeyed) }

// spellOut spells out the characters that are meant, and bytes that are none.
func spellOut(s string, meant func(rune) bool) string {
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

// obeyed reports whether a terminal acts on r.
func obeyed(r rune) bool {
	return control(r) || unicode.Is(unicode.Cf, r) && r != '\u200d'
}

// control reports whether r is a control character, but for those of layout.
func control(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }

// Package escape makes untrusted text safe to print. It replaces characters that control a terminal or are invisible
// with visible escapes.
package escape

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Hidden reports whether r controls a terminal or is invisible: C0 and C1 control characters, DEL, bidirectional marks,
// line and paragraph separators, zero-width characters, variation selectors and fillers. Line feed and tab are hidden
// too.
func Hidden(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return r == brailleBlank || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// brailleBlank is a printable character without a visible glyph.
const brailleBlank = '\u2800'

// joiner combines two symbols.
const joiner = '\u200d'

// Obeyed is Hidden except for line feeds, tabs and characters that combine symbols.
func Obeyed(r rune) bool { return r != '\n' && r != '\t' && !combines(r) && Hidden(r) }

// combines reports whether r may combine with a symbol.
func combines(r rune) bool { return r == joiner || r == '\ufe0e' || r == '\ufe0f' }

// Text returns s with each [Hidden] character as <U+001B> and each byte that is not UTF-8 as <9B>. It keeps line feeds,
// tabs and characters that combine symbols.
func Text(s string) string {
	return rewrite(s, func(b *strings.Builder, r rune, odd string) {
		if odd != "" {
			fmt.Fprintf(b, "<%02X>", odd[0])
			return
		}
		fmt.Fprintf(b, "<U+%04X>", r)
	})
}

// Line returns [Text] of s as one line, with each run of white space replaced by one space.
func Line(s string) string { return Text(OneLine(s)) }

// JSON returns JSON of the same value with \u escapes for [Hidden] characters and for bytes that are not UTF-8. It keeps
// line feeds and tabs between values.
func JSON(text string) string {
	return rewrite(text, func(b *strings.Builder, r rune, odd string) {
		if odd != "" {
			r = utf8.RuneError
		}
		unit(b, r)
	})
}

// unit writes r as one or two \u escapes.
func unit(b *strings.Builder, r rune) {
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}

// Quote is strconv.Quote with additional escapes for [Hidden] characters that strconv considers printable.
func Quote(s string) string {
	q := strconv.Quote(s)
	if !strings.ContainsFunc(q, Hidden) {
		return q
	}
	return rewrite(q, func(b *strings.Builder, r rune, _ string) {
		if r > 0xffff {
			fmt.Fprintf(b, `\U%08x`, r)
			return
		}
		unit(b, r)
	})
}

// Quoted returns s unchanged if it is one line without hidden characters, else [Quote] of s.
func Quoted(s string) string {
	if utf8.ValidString(s) && !strings.ContainsAny(s, "\n\t") && !strings.ContainsFunc(s, Obeyed) && Text(s) == s {
		return s
	}
	return Quote(s)
}

// rewrite calls escape for each hidden character of s except line feeds, tabs and characters that combine symbols, and
// for each byte that is not UTF-8, which is passed as odd.
func rewrite(s string, escape func(b *strings.Builder, r rune, odd string)) string {
	at := next(s, 0, -1)
	if at == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 64)
	done := 0
	for at < len(s) {
		b.WriteString(s[done:at])
		r, n := utf8.DecodeRuneInString(s[at:])
		odd := ""
		if r == utf8.RuneError && n == 1 {
			odd = s[at : at+1]
		}
		escape(&b, r, odd)
		done = at + n
		at = next(s, done, r)
	}
	b.WriteString(s[done:])
	return b.String()
}

// next returns the index of the next character of s to escape, starting at at, or len(s). before is the preceding
// character, negative for none.
func next(s string, at int, before rune) int {
	for at < len(s) {
		if c := s[at]; c < utf8.RuneSelf {
			if c == 0x7f || c < ' ' && c != '\n' && c != '\t' {
				return at
			}
			before = rune(c)
			at++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[at:])
		switch {
		case r == utf8.RuneError && n == 1, Obeyed(r):
			return at
		case combines(r) && !combined(before, r, s[at+n:]):
			return at
		}
		before = r
		at += n
	}
	return len(s)
}

// combined reports whether r combines with the preceding symbol. In a stream of text, either side may be in another
// chunk.
func combined(before, r rune, rest string) bool {
	after, n := utf8.DecodeRuneInString(rest)
	ends := n == 0
	if r == joiner {
		return (before < 0 || symbol(before)) && (ends || symbol(after))
	}
	const keycap = '\u20e3'
	switch {
	case before < 0:
		return ends || after == joiner || after == keycap
	case before < utf8.RuneSelf:
		return after == keycap
	}
	return symbol(before)
}

// symbol reports whether r is a pictograph or a part of one.
func symbol(r rune) bool {
	return r >= 0xa9 && (combines(r) && r != joiner || unicode.In(r, unicode.So, unicode.Sk, unicode.Sm, unicode.Po, unicode.Pd) || r == '\u2139' || r == '\u20e3')
}

// Package escape makes text from outside safe to show: what a terminal obeys, or
// shows nothing of, is written as an escape.
package escape

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Hidden reports whether a terminal acts on r or shows nothing of it: control
// characters of C0 and C1, DEL, marks that turn the direction of writing, separators
// of lines and paragraphs, characters of no width, variation selectors, fillers.
// Line feeds and tabs are among them.
func Hidden(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return r == brailleBlank || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// brailleBlank is a printable character of which nothing is shown.
const brailleBlank = '\u2800'

// joiner joins two symbols to one.
const joiner = '\u200d'

// Obeyed is Hidden but for line feeds, tabs, and what makes one symbol of several,
// which shows where these are.
func Obeyed(r rune) bool { return r != '\n' && r != '\t' && !combines(r) && Hidden(r) }

// combines reports whether r may belong to a symbol.
func combines(r rune) bool { return r == joiner || r == '\ufe0e' || r == '\ufe0f' }

// Text returns s with <U+001B> for each character that is [Hidden], and <9B> for each
// byte that is not UTF-8. Line feeds, tabs and what combines symbols stay.
func Text(s string) string {
	return rewrite(s, func(b *strings.Builder, r rune, odd string) {
		if odd != "" {
			fmt.Fprintf(b, "<%02X>", odd[0])
			return
		}
		fmt.Fprintf(b, "<U+%04X>", r)
	})
}

// Line returns s as one line of [Text]: each run of blanks, tabs and line feeds is one
// blank.
func Line(s string) string { return Text(OneLine(s)) }

// JSON returns a JSON text of the same value in which \u escapes stand for characters
// that are [Hidden], and for bytes that are not UTF-8. Line feeds and tabs between
// values stay.
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

// Quote is strconv.Quote with escapes also for the characters that are [Hidden] and
// that strconv takes for printable.
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

// Quoted returns s as it is if it stands in one line and shows what it holds, else in
// quotes: see [Quote].
func Quoted(s string) string {
	if utf8.ValidString(s) && !strings.ContainsAny(s, "\n\t") && !strings.ContainsFunc(s, Obeyed) && Text(s) == s {
		return s
	}
	return Quote(s)
}

// rewrite has escape write each hidden character of s but line feeds, tabs and what
// combines symbols, and each byte that is not UTF-8, which it gets as odd.
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

// next returns the index in s, from at on, of the next character to be escaped,
// len(s) for none. before is the character in front of it, negative for none.
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

// combined reports whether r combines the symbol in front of it: of a text that is
// given in pieces either side may be in another one.
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

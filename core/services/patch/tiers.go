package patch

import (
	"strings"
	"unicode/utf8"
)

// whiteSpace is what the tiers ignore at the ends of a line. A CR there is
// one that does not belong to the line ending.
const whiteSpace = " \t\r\v\f"

// tier is one way to compare the lines of a diff with those of a file
// (FS-36). It maps line contents so that lines which count as equal become
// equal strings. Each tier forgives what the ones before it forgive.
type tier struct {
	kind string // of the correction it gives; "" for exact text
	fold func(content string) string
}

// tiers in the order in which they are tried. The last resort, a left-out
// line (FS-69), compares exact text and stands in missing.go.
var tiers = [...]tier{
	{"", func(s string) string { return s }},
	{KindTrailingSpace, func(s string) string { return strings.TrimRight(s, whiteSpace) }},
	{KindSurroundSpace, trimmed},
	{KindLookalikes, func(s string) string { return trimmed(plain(s)) }},
}

func trimmed(s string) string { return strings.Trim(s, whiteSpace) }

// indentOf returns the white space that a line begins with.
func indentOf(content string) string {
	return content[:len(content)-len(strings.TrimLeft(content, whiteSpace))]
}

// plain replaces Unicode quotes, dashes and spaces by their ASCII look-alikes.
// Bytes that are no UTF-8 stay as they are.
func plain(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if ascii := asciiOf(r); ascii != 0 {
			b.WriteByte(ascii)
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// asciiOf returns the ASCII look-alike of a rune, 0 if it has none.
func asciiOf(r rune) byte {
	switch r {
	case '\u2018', '\u2019', '\u201A', '\u201B', '\u2032':
		return '\''
	case '\u201C', '\u201D', '\u201E', '\u201F', '\u2033':
		return '"'
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212':
		return '-'
	case '\u00A0', '\u2000', '\u2001', '\u2002', '\u2003', '\u2004', '\u2005', '\u2006',
		'\u2007', '\u2008', '\u2009', '\u200A', '\u202F', '\u205F', '\u3000':
		return ' '
	}
	return 0
}

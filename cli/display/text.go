package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
)

// Sentence capitalizes s and adds a full stop.
func Sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return s
	}
	first, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[n:]
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

// FirstSentence returns the first sentence of a description, on one line.
func FirstSentence(s string) string { return Printable(escape.FirstSentence(s)) }

// Wrap wraps text at blanks into lines of at most columns characters, unless a word
// is longer. Each line gets an indent and a line feed.
func Wrap(text, indent string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		used := 0
		b.WriteString(indent)
		for _, word := range strings.Fields(line) {
			n := len([]rune(word))
			switch {
			case used == 0:
			case len(indent)+used+1+n > columns:
				b.WriteString("\n" + indent)
				used = 0
			default:
				b.WriteByte(' ')
				used++
			}
			b.WriteString(word)
			used += n
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ListingWidth is the maximum number of characters of a description in a listing; a
// narrower terminal reduces it.
const ListingWidth = 100

// Thousands formats n with commas.
func Thousands(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Shortened returns a text of at most about max bytes: a longer one loses its middle, with a
// line that names the number of bytes omitted.
func Shortened(text string, max int) string {
	head, tail, omitted := escape.Ends(text, max/2, max/2)
	if omitted == 0 {
		return text
	}
	return head + "\n[" + Thousands(omitted) + " bytes omitted]\n" + tail
}

package tools

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/fettle-dev/fettle/core/escape"
)

// Untrusted returns text that came from outside (a command's output, a page, a
// server's answer) in the form in which a model is to take it as data: between
// the lines <untrusted_context> and </untrusted_context>. In such a tag within
// text, "<" is written as &lt; (see [EscapeTag]), so that text cannot end its own
// marking. What fettle itself has to say belongs before it.
func Untrusted(text string) string {
	text = strings.TrimSuffix(EscapeTag(text, untrustedTag), "\n")
	return "<untrusted_context>\n" + text + "\n</untrusted_context>"
}

const untrustedTag = "untrusted_context"

// EscapeTag returns text in which &lt; stands for the "<" of whatever reads as a
// tag of that name, the one that begins or the one that ends: in letters of any
// case, width or style, with anything between them that is no letter and no
// digit, as blanks, hyphens and characters that are not seen, and with other
// characters that look like "<". The rest is as it was. name is of letters and
// digits of ASCII and what stands between them.
func EscapeTag(text, name string) string {
	name = letters(name)
	var b strings.Builder
	done := 0
	for i, r := range text {
		if !opens(r) {
			continue
		}
		if end := i + utf8.RuneLen(r); reads(text[end:], name) {
			b.WriteString(text[done:i])
			b.WriteString("&lt;")
			done = end
		}
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// Quote returns text from outside as a part of a sentence of fettle's: in quotes,
// on one line, with no more than limit bytes of it, and without marks of
// [Untrusted].
func Quote(text string, limit int) string {
	text = strings.TrimSpace(text)
	if head := escape.Head(text, limit); len(head) < len(text) {
		text = head + "…"
	}
	text = escape.Quote(EscapeTag(text, untrustedTag))
	return EscapeTag(text, untrustedTag) // \n is a letter where a line break was
}

// opens reports whether a tag may seem to begin with r.
func opens(r rune) bool {
	switch r {
	case '<', '\u2039', '\u226e', '\u2329', '\u276e', '\u27e8', '\u3008', '\ufe64', '\uff1c': // ‹ ≮ 〈 ❮ ⟨ 〈 ﹤ ＜
		return true
	}
	return false
}

// reads reports whether the letters and digits that text begins with are those
// of name.
func reads(text, name string) bool {
	for _, r := range text {
		if name == "" {
			return true
		}
		if opens(r) || r == '>' {
			return false
		}
		for _, l := range letters(string(r)) {
			if name == "" || rune(name[0]) != l {
				return false
			}
			name = name[1:]
		}
	}
	return name == ""
}

// letters returns the letters and digits of s, in lower case, each in its plain
// form.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(s))
}

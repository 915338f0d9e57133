package tools

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/fettle-dev/fettle/core/escape"
)

// Untrusted marks text from an outside source (a command's output, a page, a server's response) as data for the model:
// it encloses the text between the lines <untrusted_context> and </untrusted_context>. Such tags within text are written
// with &lt; (see [EscapeTag]), so that text cannot end the block. fettle's own messages belong before it.
func Untrusted(text string) string {
	text = strings.TrimSuffix(EscapeTag(text, untrustedTag), "\n")
	return "<untrusted_context>\n" + text + "\n</untrusted_context>"
}

const untrustedTag = "untrusted_context"

// EscapeTag returns text with &lt; instead of "<" wherever text reads as an opening or closing tag of that name. It
// recognizes letters of any case, width or style, other characters between them such as spaces, hyphens and invisible
// characters, and characters that look like "<". The rest is unchanged. name consists of ASCII letters and digits and
// separators between them.
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

// Quote returns text from an outside source as part of a sentence: in quotes, on one line, clipped to limit bytes, and
// without tags of [Untrusted].
func Quote(text string, limit int) string {
	text = strings.TrimSpace(text)
	if head := escape.Head(text, limit); len(head) < len(text) {
		text = head + "…"
	}
	text = escape.Quote(EscapeTag(text, untrustedTag))
	return EscapeTag(text, untrustedTag) // \n is a letter where a line break was
}

// opens reports whether r may look like the start of a tag.
func opens(r rune) bool {
	switch r {
	case '<', '\u2039', '\u226e', '\u2329', '\u276e', '\u27e8', '\u3008', '\ufe64', '\uff1c': // ‹ ≮ 〈 ❮ ⟨ 〈 ﹤ ＜
		return true
	}
	return false
}

// reads reports whether the letters and digits at the start of text are those of name.
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

// letters returns the letters and digits of s, in lower case and in their plain forms.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(s))
}

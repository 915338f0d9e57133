package shell

import (
	"fmt"
	"strings"
)

// Quote joins words by blanks, with quotes where bash requires them.
func Quote(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteWord(w)
	}
	return strings.Join(quoted, " ")
}

// plain lists the characters that require no quotes, besides letters and digits.
const plain = "_./:@%+,-=^"

func quoteWord(w string) string {
	if w == "" {
		return "''"
	}
	needs, control := false, false
	for i, r := range w {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r > 0x7f, strings.ContainsRune(plain, r):
		case r == '~' && i > 0, r == '#' && i > 0:
		case r == '[' && w == "[", r == ']' && w == "]":
		case r < 0x20 && r != '\n' && r != '\t', r == 0x7f:
			needs, control = true, true
		default:
			needs = true
		}
	}
	switch {
	case !needs:
		return w
	case control:
		return quoteANSI(w)
	}
	return singleQuoted(w)
}

// quoteANSI quotes a word with control characters visibly.
func quoteANSI(w string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(w) {
		switch c := w[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString("'")
	return b.String()
}

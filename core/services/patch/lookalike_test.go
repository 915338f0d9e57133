package patch

import "strings"

// plain replaces the look-alikes of a text by their first ASCII spelling.
func plain(s string) string {
	var b strings.Builder
	for _, r := range s {
		if spellings, ok := lookalikes()[r]; ok {
			b.WriteString(spellings[0])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plainable returns the look-alikes of a text.
func plainable(s string) string {
	return strings.Map(func(r rune) rune {
		if _, ok := lookalikes()[r]; ok {
			return r
		}
		return -1
	}, s)
}

package subagent

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Clip returns s in one line of at most n characters, for messages about agents.
func Clip(s string, n int) string {
	r := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " "))
	if len(r) > n {
		return string(r[:n]) + "…"
	}
	return string(r)
}

// Cut returns at most n bytes of what an agent has to say, with a note where
// something is missing. lost is how many bytes are missing from text already.
func Cut(text string, n, lost int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= n && lost == 0 {
		return text
	}
	at := min(n, len(text))
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at] + fmt.Sprintf("\n[The report was cut here: it has %d bytes, of which %d are shown.]", len(text)+lost, at)
}

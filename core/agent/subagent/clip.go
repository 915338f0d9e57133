package subagent

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
)

// Cut returns at most n bytes of an agent's text, with a note if bytes are missing. omitted is the
// number of bytes that text already lacks.
func Cut(text string, n, omitted int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= n && omitted == 0 {
		return text
	}
	head := escape.Head(text, n)
	return head + fmt.Sprintf("\n[The report was cut here: it has %d bytes, of which %d are shown.]", len(text)+omitted, len(head))
}

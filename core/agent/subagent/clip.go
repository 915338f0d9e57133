package subagent

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
)

// Cut returns at most n bytes of what an agent has to say, with a note where
// something is missing. lost is how many bytes are missing from text already.
func Cut(text string, n, lost int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= n && lost == 0 {
		return text
	}
	head := escape.Head(text, n)
	return head + fmt.Sprintf("\n[The report was cut here: it has %d bytes, of which %d are shown.]", len(text)+lost, len(head))
}

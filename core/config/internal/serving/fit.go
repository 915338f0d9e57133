package serving

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/tools"
)

// fitted returns a result in which no text exceeds most bytes: a longer one is
// shortened to its beginning and end. Tools that show files bound their results
// themselves, so that omitted content does not count as shown. Data for programs
// is unchanged, and so is JSON, which a cut would make invalid.
func fitted(r tools.Result, most int) tools.Result {
	long := func(p tools.Part) bool { return len(p.Text) > most }
	if len(r.Context) > most {
		r.Context = endsOf(r.Context, most)
	}
	if r.LLMContent.IsJSON() || !slices.ContainsFunc(r.LLMContent.Parts, long) {
		return r
	}
	parts := slices.Clone(r.LLMContent.Parts)
	for i, p := range parts {
		if long(p) {
			parts[i].Text = endsOf(p.Text, most)
		}
	}
	r.LLMContent = tools.Content{Parts: parts}
	return r
}

// endsOf returns the beginning and the end of a text longer than most bytes, with
// the number of omitted bytes between them.
func endsOf(text string, most int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	const mark = "\n... [%d bytes omitted] ...\n"
	room := max(most-len(mark)-10, 0)
	head, tail, omitted := escape.Ends(text, room/5, room-room/5)
	return head + fmt.Sprintf(mark, omitted) + tail
}

package file

import (
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/tools"
)

// fit shortens what a report says beside the state of the file where its JSON text
// has more than so many bytes: the corrections first, then the message. The state
// stays, as the session counts it as shown.
func (r *Report) fit(most int) {
	over := tools.JSONBytes(r) - most
	if over <= 0 {
		return
	}
	for len(r.Corrections) > 0 && over > 0 {
		last := len(r.Corrections) - 1
		over -= tools.JSONBytes(r.Corrections[last]) + len(",")
		r.Corrections = r.Corrections[:last:last]
	}
	if len(r.Corrections) == 0 {
		r.Corrections = []patch.Correction(nil)
		over = tools.JSONBytes(r) - most
	}
	if over > 0 {
		const mark = "…"
		r.Message = within(r.Message, tools.JSONBytes(r.Message)-len(`""`)-over-len(mark)) + mark
	}
}

// within returns the longest beginning of text that has so many bytes inside a JSON
// string.
func within(text string, room int) string {
	for i, c := range text {
		if room -= tools.JSONBytes(string(c)) - len(`""`); room < 0 {
			return text[:i]
		}
	}
	return text
}

package subagent

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/internal/editdistance"
)

// nearest returns the word that s is probably a misspelling of, or "". It ignores case, blanks,
// hyphens and underscores.
func nearest(s string, words []string) string {
	best, least := "", 0
	s = folded(escape.Plain(s, 60))
	for _, word := range slices.Sorted(slices.Values(words)) {
		d := editdistance.Of([]byte(s), []byte(folded(word)))
		if d <= min(3, len(word)/2) && (best == "" || d < least) {
			best, least = word, d
		}
	}
	return best
}

func folded(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// quoted returns a word of a file or of a model for a message, with invisible characters escaped.
func quoted(s string) string { return escape.Quote(escape.Clip(escape.OneLine(s), 60)) }

package subagent

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
)

// nearest returns the word that s is probably meant to be, or "". Case, blanks,
// hyphens and underscores do not count.
func nearest(s string, words []string) string {
	best, least := "", 0
	s = folded(escape.Plain(s, 60))
	for _, word := range slices.Sorted(slices.Values(words)) {
		d := distance(s, folded(word))
		if d <= min(3, len(word)/2) && (best == "" || d < least) {
			best, least = word, d
		}
	}
	return best
}

func folded(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// distance counts the letters to add, drop or change to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, cost)
		}
	}
	return row[len(b)]
}

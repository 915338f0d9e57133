package hookrun

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/internal/editdistance"
)

// nearest returns the word that s probably misspells, or "".
func nearest(s string, words []string) string {
	best, distance := "", 0
	for _, word := range words {
		d := editdistance.Of(folded(s), folded(word))
		if d <= min(3, len(word)/2) && (best == "" || d < distance) {
			best, distance = word, d
		}
	}
	return best
}

// perhaps returns a sentence that suggests the nearest word, after a space.
func perhaps(s string, words []string) string {
	if word := nearest(s, words); word != "" {
		return fmt.Sprintf(" Did you mean %s?", word)
	}
	return ""
}

// folded returns a word without case, hyphens, underscores and spaces.
func folded(s string) []rune {
	const most = 60
	var out []rune
	for _, r := range s {
		if !strings.ContainsRune("_- ", r) {
			out = append(out, unicode.ToLower(r))
		}
		if len(out) == most {
			break
		}
	}
	return out
}

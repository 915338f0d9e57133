package hooks

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/internal/editdistance"
)

// Problem is something wrong in a definition of hooks. What is lost to it is
// said in Message; all else is in force.
type Problem struct {
	Path    string `json:"path,omitempty"`
	Line    int    `json:"line,omitempty"` // 1-based; 0: the file as a whole
	Message string `json:"message"`        // sentences
}

// String returns "FILE:LINE: message" as one line.
func (p Problem) String() string {
	text := oneLine(p.Message)
	switch {
	case p.Path == "":
		return text
	case p.Line == 0:
		return p.Path + ": " + text
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, text)
}

// nearest returns the word that s is probably meant to be, or "".
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

// perhaps is the sentence that names the nearest word, with a blank before it.
func perhaps(s string, words []string) string {
	if word := nearest(s, words); word != "" {
		return fmt.Sprintf(" Perhaps %s is meant.", word)
	}
	return ""
}

// folded is a word without case, hyphens, underscores and blanks.
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

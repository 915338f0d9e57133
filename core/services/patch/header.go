package patch

import (
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// header is the content of a hunk's @@ line. All of it is a hint.
type header struct {
	placed             bool // it has an old position
	counted            bool // it has both positions, and so both counts
	explicit           bool // it contains the old count explicitly
	oldStart, oldCount int
	newStart, newCount int
}

// hunkNumbers matches `-l[,s]` and `+l[,s]` after `@@`.
var hunkNumbers = lazyregexp.New(`^@@[ \t]*-(\d{1,9})(?:,(\d{1,9}))?(?:[ \t]+\+(\d{1,9})(?:,(\d{1,9}))?)?`)

// parseHeader parses a line that begins with @@. A line without numbers returns the zero header.
func parseHeader(s string) header {
	m := hunkNumbers().FindStringSubmatch(s)
	if m == nil {
		return header{}
	}
	number := func(s string, absent int) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			return absent
		}
		return n
	}
	h := header{placed: true, oldStart: number(m[1], 0), oldCount: number(m[2], 1), explicit: m[2] != ""}
	if m[3] != "" {
		h.counted = true
		h.newStart, h.newCount = number(m[3], 0), number(m[4], 1)
	}
	return h
}

// fileName extracts the name from the text after "--- " or "+++ ": without a timestamp, quotes and
// the prefix a/ or b/.
func fileName(s string) string { return bare(wholeName(s)) }

// wholeName is fileName with the prefix.
func wholeName(s string) string {
	s, _, _ = strings.Cut(s, "\t")
	s = versionNote().ReplaceAllString(strings.TrimSpace(s), "")
	if len(s) > 1 && s[0] == '"' {
		if unquoted, err := strconv.Unquote(s); err == nil {
			s = unquoted
		}
	}
	return s
}

// gitNames extracts both names from a line "diff --git a/x b/x". ok is false if the names contain
// blanks, so that the line can be split in several ways.
func gitNames(s string) (oldName, newName string, ok bool) {
	f := strings.Fields(strings.TrimPrefix(s, "diff --git "))
	if len(f) != 2 {
		return "", "", false
	}
	return fileName(f[0]), fileName(f[1]), true
}

package display

import (
	"strconv"
	"strings"
)

// HunkLines returns the number of lines before and after the change that the header of
// a hunk announces; 0, 0 for another line.
func HunkLines(header string) (before, after int) {
	fields := strings.Fields(header)
	if len(fields) < 4 || fields[0] != "@@" || fields[3] != "@@" {
		return 0, 0
	}
	count := func(field, sign string) int {
		place, isPlace := strings.CutPrefix(field, sign)
		_, lines, given := strings.Cut(place, ",")
		switch n, err := strconv.Atoi(lines); {
		case !isPlace:
			return 0
		case !given:
			return 1
		case err != nil:
			return 0
		default:
			return max(n, 0)
		}
	}
	return count(fields[1], "-"), count(fields[2], "+")
}

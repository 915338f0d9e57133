package display

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// TabStop is the distance between tab stops.
const TabStop = 8

// Width returns the number of columns of a line: two for a wide character, none for a
// combining character and for style sequences. A tab has no width either; see
// [Untab].
func Width(line string) int { return ansi.StringWidth(line) }

// Untab replaces tabs by blanks up to the next tab stop. column is the 0-based column
// where text starts.
func Untab(text string, column int) string {
	if !strings.Contains(text, "\t") {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		for {
			before, after, found := strings.Cut(line, "\t")
			b.WriteString(before)
			if !found {
				break
			}
			column += Width(before)
			blanks := TabStop - column%TabStop
			b.WriteString(strings.Repeat(" ", blanks))
			column += blanks
			line = after
		}
		column = 0
	}
	return b.String()
}

// Cut shortens a line to at most columns and puts mark in place of the removed end.
// Active styles are reset after the cut. If not even the mark fits, the result is "".
func Cut(line string, columns int, mark string) string {
	if Width(line) <= columns {
		return line
	}
	if columns < Width(mark) {
		return ""
	}
	return ansi.Truncate(line, columns, mark)
}

// Break splits a line into pieces of at most columns, as [Split] does. An empty line
// is one empty piece.
func Break(line string, columns int) []string {
	var pieces []string
	for {
		head, rest := Split(line, columns)
		pieces = append(pieces, head)
		if rest == "" {
			return pieces
		}
		line = rest
	}
}

// Split splits the longest prefix of at most columns from a line, but never within a
// character. The prefix contains at least one character, even if it is too wide. The
// text must not contain styles.
func Split(line string, columns int) (head, rest string) {
	if len(line) <= columns {
		return line, ""
	}
	used := 0
	for i := 0; i < len(line); {
		cluster, width := ansi.FirstGraphemeCluster(line[i:], ansi.GraphemeWidth)
		used += width
		if used > columns && i > 0 {
			return line[:i], line[i:]
		}
		i += len(cluster)
	}
	return line, ""
}

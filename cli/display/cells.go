package display

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// TabStop is how far the stops of tabs are apart.
const TabStop = 8

// Width returns how many columns a line takes: two for a wide character, none
// for one that combines with the one before, and none for sequences that set
// styles. A tab takes none either; see [Untab].
func Width(line string) int { return ansi.StringWidth(line) }

// Untab puts blanks in place of tabs, so that what follows stands at the next
// stop. column is where text begins in its line, 0-based.
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

// Cut returns a line that is no wider than so many columns: what does not fit is
// cut off, and mark stands in its place. Styles that are on at the cut are
// switched off behind it. Without room even for the mark it is "".
func Cut(line string, columns int, mark string) string {
	if Width(line) <= columns {
		return line
	}
	if columns < Width(mark) {
		return ""
	}
	return ansi.Truncate(line, columns, mark)
}

// Break cuts a line into pieces that are no wider than so many columns, as
// [Split] does. A line that is empty is one empty piece.
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

// Split cuts off as much of the begin of a line as fits into so many columns,
// wherever that falls, but never within a character. The first character is cut
// off in any case, be it too wide. It is for text without styles.
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

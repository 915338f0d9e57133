package display

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/cli/theme"
)

// Diff formats a complete unified diff for a terminal: safe to print, in the colours
// of the theme. A carriage return at the end of a line is shown as a symbol.
func Diff(diff string, t theme.Theme) string {
	var b strings.Builder
	inHunk := false
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		inHunk = inHunk || strings.HasPrefix(line, "@@")
		b.WriteString(DiffStyle(line, inHunk, t).Render(diffText(line)))
		b.WriteByte('\n')
	}
	return b.String()
}

// NumberedDiff formats a unified diff of one file for a terminal: without the file
// names, each line with its number before and after the change, and a separator
// between hunks. A line wider than columns is wrapped with its sign repeated; columns
// below 1 disable wrapping. It also counts the lines added and removed.
func NumberedDiff(diff string, columns int, t theme.Theme) (text string, added, removed int) {
	var b strings.Builder
	width := numberWidth(diff)
	gutter := 2*width + 2
	inHunk, oldLine, newLine := false, 0, 0
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "@@") {
			if inHunk {
				b.WriteString(t.Hunk.Render(strings.Repeat(" ", width)+" ⋯") + "\n")
			}
			oldLine, newLine = hunkStart(line)
			inHunk = true
			continue
		}
		if !inHunk {
			continue
		}
		before, after := "", ""
		switch {
		case strings.HasPrefix(line, "+"):
			after = strconv.Itoa(newLine)
			newLine++
			added++
		case strings.HasPrefix(line, "-"):
			before = strconv.Itoa(oldLine)
			oldLine++
			removed++
		case !strings.HasPrefix(line, `\`):
			before, after = strconv.Itoa(oldLine), strconv.Itoa(newLine)
			oldLine++
			newLine++
		}
		style := DiffStyle(line, true, t)
		for _, piece := range diffPieces(line, columns-gutter) {
			b.WriteString(t.Dim.Render(fmt.Sprintf("%*s %*s ", width, before, width, after)))
			b.WriteString(style.Render(piece))
			b.WriteByte('\n')
			before, after = "", ""
		}
	}
	return b.String(), added, removed
}

// diffPieces splits a line of a diff into pieces that fit, each with its sign.
func diffPieces(line string, columns int) []string {
	text := diffText(line)
	if columns < 2 {
		return []string{text}
	}
	sign := ""
	if text != "" && strings.ContainsAny(text[:1], `+- \`) {
		sign = text[:1]
	}
	pieces := Break(Untab(text[len(sign):], 0), columns-len(sign))
	for i := range pieces {
		pieces[i] = sign + pieces[i]
	}
	return pieces
}

// diffText returns a line of a diff that is safe to print.
func diffText(line string) string {
	text, cr := strings.CutSuffix(line, "\r")
	if cr {
		return Printable(text) + "␍"
	}
	return Printable(text)
}

// hunkStart returns the first line of a hunk before and after the change, 0 if its
// header has none.
func hunkStart(header string) (oldLine, newLine int) {
	fields := strings.Fields(header)
	if len(fields) < 3 {
		return 0, 0
	}
	number := func(field, sign string) int {
		digits, _, _ := strings.Cut(strings.TrimPrefix(field, sign), ",")
		n, _ := strconv.Atoi(digits)
		return n
	}
	return number(fields[1], "-"), number(fields[2], "+")
}

// HunkLengths returns the number of lines of a hunk before and after the change, by its
// header; -1 if it has none.
func HunkLengths(header string) (oldLines, newLines int) {
	fields := strings.Fields(header)
	if len(fields) < 3 {
		return -1, -1
	}
	length := func(field string) int {
		_, digits, found := strings.Cut(field, ",")
		if !found {
			return 1
		}
		if n, err := strconv.Atoi(digits); err == nil && n >= 0 {
			return n
		}
		return -1
	}
	return length(fields[1]), length(fields[2])
}

// numberWidth returns the width of the line numbers of a diff.
func numberWidth(diff string) int {
	most, length := 0, 0 // of the last hunk, which has the highest numbers
	for line := range strings.Lines(diff) {
		length++
		if strings.HasPrefix(line, "@@") {
			oldLine, newLine := hunkStart(line)
			most, length = max(oldLine, newLine), 0
		}
	}
	return len(strconv.Itoa(most + length))
}

// DiffStyle returns the style of a line of a unified diff. inHunk distinguishes the
// file names before the first hunk.
func DiffStyle(line string, inHunk bool, t theme.Theme) theme.Style {
	switch {
	case !inHunk:
		return t.Strong
	case strings.HasPrefix(line, "@@"):
		return t.Hunk
	case strings.HasPrefix(line, "+"):
		return t.Added
	case strings.HasPrefix(line, "-"):
		return t.Removed
	case strings.HasPrefix(line, `\`):
		return t.Dim
	}
	return theme.Style{}
}

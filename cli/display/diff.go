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

// DiffLine is a line of a hunk of a unified diff, safe to print.
type DiffLine struct {
	Sign     string // "+", "-", " ", "" for a line without a sign, `\` for a remark, "@@" at the start of a hunk
	Old, New int    // its number before and after the change, if it has one; see Numbers
	Text     string // after the sign; a carriage return at its end is a symbol
}

// Numbers returns the line numbers before and after the change, "" for none.
func (l DiffLine) Numbers() (before, after string) {
	if l.Sign != "+" && l.Sign != `\` {
		before = strconv.Itoa(l.Old)
	}
	if l.Sign != "-" && l.Sign != `\` {
		after = strconv.Itoa(l.New)
	}
	return before, after
}

// ParseDiff returns the lines of a unified diff of one file, without the file names.
func ParseDiff(diff string) (lines []DiffLine) {
	oldLine, newLine := 0, 0
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "@@") {
			oldLine, newLine = hunkStart(line)
			lines = append(lines, DiffLine{Sign: "@@"})
			continue
		}
		if len(lines) == 0 {
			continue
		}
		sign := ""
		if line != "" && strings.ContainsAny(line[:1], `+- \`) {
			sign = line[:1]
		}
		lines = append(lines, DiffLine{Sign: sign, Old: oldLine, New: newLine, Text: diffText(line[len(sign):])})
		if sign != "+" && sign != `\` {
			oldLine++
		}
		if sign != "-" && sign != `\` {
			newLine++
		}
	}
	return lines
}

// DiffDigits returns the width of the line numbers of a diff.
func DiffDigits(lines []DiffLine) int {
	most := 0
	for _, line := range lines {
		before, after := line.Numbers()
		most = max(most, len(before), len(after))
	}
	return max(most, 1)
}

// NumberedDiff formats a unified diff of one file for line output: each line with its
// number before and after the change, and a separator between hunks. It also counts
// the lines added and removed.
func NumberedDiff(diff string, t theme.Theme) (text string, added, removed int) {
	var b strings.Builder
	lines := ParseDiff(diff)
	width := DiffDigits(lines)
	for i, line := range lines {
		switch line.Sign {
		case "@@":
			if i > 0 {
				b.WriteString(t.Hunk.Render(strings.Repeat(" ", width)+" ⋯") + "\n")
			}
			continue
		case "+":
			added++
		case "-":
			removed++
		}
		before, after := line.Numbers()
		b.WriteString(t.Dim.Render(fmt.Sprintf("%*s %*s ", width, before, width, after)))
		b.WriteString(DiffStyle(line.Sign, true, t).Render(line.Sign+line.Text) + "\n")
	}
	return b.String(), added, removed
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

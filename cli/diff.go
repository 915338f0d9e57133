package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// style is a terminal's escape sequence.
type style string

const (
	styleBold  style = "\x1b[1m"
	styleDim   style = "\x1b[2m"
	styleRed   style = "\x1b[31m"
	styleGreen style = "\x1b[32m"
	styleCyan  style = "\x1b[36m"
	styleReset style = "\x1b[0m"
)

// paint returns s in a style, or s alone without colour.
func paint(st style, s string, colour bool) string {
	if !colour || s == "" || st == "" {
		return s
	}
	return string(st) + s + string(styleReset)
}

// renderDiff is a unified diff for a terminal: safe to print, and coloured
// if asked. A carriage return at the end of a line shows as one sign.
func renderDiff(diff string, colour bool) string {
	var b strings.Builder
	inHunk := false
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		inHunk = inHunk || strings.HasPrefix(line, "@@")
		b.WriteString(paint(diffStyle(line, inHunk), diffText(line), colour))
		b.WriteByte('\n')
	}
	return b.String()
}

// diffText is a line of a diff that is safe to print.
func diffText(line string) string {
	text, cr := strings.CutSuffix(line, "\r")
	if cr {
		return printable(text) + "␍"
	}
	return printable(text)
}

// renderNumberedDiff is a unified diff of one file for a terminal: without the
// file's names, each line with its number before and after the change, and a
// mark between hunks. It also counts the lines added and removed.
func renderNumberedDiff(diff string, colour bool) (text string, added, removed int) {
	var b strings.Builder
	width := numberWidth(diff)
	inHunk, oldLine, newLine := false, 0, 0
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "@@") {
			if inHunk {
				b.WriteString(paint(styleCyan, strings.Repeat(" ", width)+" ⋯", colour) + "\n")
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
		b.WriteString(paint(styleDim, fmt.Sprintf("%*s %*s ", width, before, width, after), colour))
		b.WriteString(paint(diffStyle(line, true), diffText(line), colour))
		b.WriteByte('\n')
	}
	return b.String(), added, removed
}

// hunkStart returns where a hunk begins before and after the change, 0 where
// its header does not say.
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

// numberWidth is how wide the line numbers of a diff become.
func numberWidth(diff string) int {
	most, length := 0, 0 // of the last hunk, which has the highest ones
	for line := range strings.Lines(diff) {
		length++
		if strings.HasPrefix(line, "@@") {
			oldLine, newLine := hunkStart(line)
			most, length = max(oldLine, newLine), 0
		}
	}
	return len(strconv.Itoa(most + length))
}

func diffStyle(line string, inHunk bool) style {
	switch {
	case !inHunk:
		return styleBold
	case strings.HasPrefix(line, "@@"):
		return styleCyan
	case strings.HasPrefix(line, "+"):
		return styleGreen
	case strings.HasPrefix(line, "-"):
		return styleRed
	case strings.HasPrefix(line, `\`):
		return styleDim
	}
	return ""
}

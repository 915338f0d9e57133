package cli

import "strings"

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
		text, cr := strings.CutSuffix(line, "\r")
		text = printable(text)
		if cr {
			text += "␍"
		}
		b.WriteString(paint(diffStyle(line, inHunk), text, colour))
		b.WriteByte('\n')
	}
	return b.String()
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

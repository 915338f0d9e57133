package cli

import (
	"github.com/charmbracelet/colorprofile"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
)

// style is a terminal's escape sequence.
type style string

const (
	styleBold  style = "\x1b[1m"
	styleDim   style = "\x1b[2m"
	styleRed   style = "\x1b[31m"
	styleGreen style = "\x1b[32m"
	styleCyan  style = "\x1b[36m"
	styleReset style = theme.Reset
)

// paint returns s in a style, or s alone without colour.
func paint(st style, s string, colour bool) string {
	if !colour || s == "" || st == "" {
		return s
	}
	return string(st) + s + string(styleReset)
}

// diffTheme is the terminal's own colours, or none.
func diffTheme(colour bool) theme.Theme {
	if !colour {
		return theme.Theme{}
	}
	return theme.New(theme.Options{Name: theme.ANSI, Profile: colorprofile.ANSI})
}

// renderDiff is a unified diff for a terminal.
func renderDiff(diff string, colour bool) string { return display.Diff(diff, diffTheme(colour)) }

// renderNumberedDiff is a unified diff of one file for a terminal, with line
// numbers. It also counts the lines added and removed.
func renderNumberedDiff(diff string, colour bool) (text string, added, removed int) {
	return display.NumberedDiff(diff, 0, diffTheme(colour))
}

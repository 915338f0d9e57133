package display

import (
	"github.com/charmbracelet/colorprofile"

	"github.com/fettle-dev/fettle/cli/theme"
)

// Style is an escape sequence of a terminal.
type Style string

// The styles of line output.
const (
	StyleBold  Style = "\x1b[1m"
	StyleDim   Style = "\x1b[2m"
	StyleRed   Style = "\x1b[31m"
	StyleGreen Style = "\x1b[32m"
	StyleCyan  Style = "\x1b[36m"
	StyleReset Style = theme.Reset
)

// Paint returns s in a style, or s unchanged without colour.
func Paint(st Style, s string, colour bool) string {
	if !colour || s == "" || st == "" {
		return s
	}
	return string(st) + s + string(StyleReset)
}

// diffTheme returns a theme with the terminal's own colours, or without colours.
func diffTheme(colour bool) theme.Theme {
	if !colour {
		return theme.Theme{}
	}
	return theme.New(theme.Options{Name: theme.ANSI, Profile: colorprofile.ANSI})
}

// TerminalDiff formats a unified diff for a terminal.
func TerminalDiff(diff string, colour bool) string { return Diff(diff, diffTheme(colour)) }

// TerminalNumberedDiff formats a unified diff of one file for a terminal, with line
// numbers. It also counts the lines added and removed.
func TerminalNumberedDiff(diff string, colour bool) (text string, added, removed int) {
	return NumberedDiff(diff, diffTheme(colour))
}

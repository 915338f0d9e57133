// Package markdown shows Markdown, as models write it, in a terminal.
package markdown

import "github.com/fettle-dev/fettle/cli/theme"

// Render returns source for a terminal of so many columns, in the theme's styles.
// It ends with a line feed unless it is empty. Nothing in source reaches the
// terminal but as text; see package display.
func Render(source string, width int, t theme.Theme) string {
	s := NewStream(width, t)
	return s.Add(source) + s.End()
}

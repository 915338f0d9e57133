// Package markdown renders Markdown for a terminal.
//
// It supports CommonMark with tables, strikethrough, task lists and autolinks of
// GitHub. All text of the source is shown: links are followed by their addresses,
// HTML is text, and code is neither wrapped at blanks nor changed.
package markdown

import "github.com/fettle-dev/fettle/cli/theme"

// Render renders source for a terminal of the given width, in the styles of the
// theme. No line is wider than columns; columns below 10 count as 10. The result ends
// with a line feed unless it is empty. It is safe for the terminal; see package
// display.
//
// A reference is a link if it is defined earlier or in the same block. Blocks of more
// than 64 KiB are rendered as several blocks, and excessively nested blocks as plain
// text.
func Render(source string, columns int, t theme.Theme) string {
	s := NewStream(columns, t)
	return s.Add(source) + s.End()
}

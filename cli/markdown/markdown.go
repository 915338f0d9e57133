// Package markdown renders Markdown for a terminal.
//
// Styles replace the marks of the source: headings have no #, tasks are boxes, code
// blocks have a rule with their language above them. Without styles the marks of
// headings and code spans remain.
//
// It supports CommonMark with tables, strikethrough, task lists and autolinks of
// GitHub. All text of the source is shown: links are followed by their addresses,
// HTML is text, and code is neither wrapped at blanks nor changed.
package markdown

import (
	"github.com/fettle-dev/fettle/cli/highlight"
	"github.com/fettle-dev/fettle/cli/theme"
)

// Render renders source for a terminal of the given width, in the styles of the
// theme. No line is wider than columns; columns below 10 count as 10. The result ends
// with a line feed unless it is empty. It is safe for the terminal; see package
// display.
//
// A reference is a link if it is defined earlier or in the same block. Blocks of more
// than 64 KiB are rendered as several blocks, and excessively nested blocks as plain
// text.
//
// Code has no colours of its language; see [Highlighted].
func Render(source string, columns int, t theme.Theme) string {
	return Highlighted(source, columns, t, nil)
}

// Highlighted is [Render] with the colours that h finds in code.
func Highlighted(source string, columns int, t theme.Theme, h *highlight.Highlighter) string {
	s := NewStream(columns, t, h)
	return s.Add(source) + s.End()
}

// Package markdown shows Markdown, as models write it, in a terminal.
//
// It takes CommonMark with tables, strikethrough, task lists and bare links of
// GitHub's. What a reader of the plain source would see is shown: addresses stand
// behind links, HTML is text, and code is neither folded at blanks nor changed.
package markdown

import "github.com/fettle-dev/fettle/cli/theme"

// Render returns source for a terminal of so many columns, in the theme's styles:
// no line is wider, and columns below 10 count as 10. It ends with a line feed
// unless it is empty. Nothing in source reaches the terminal but as text; see
// package display.
//
// A reference is a link if it is defined before it or in the same block. Blocks
// of more than 64 KiB are shown as several, and those whose only purpose can be
// to take time, as hundreds of quotations in each other, as plain text.
func Render(source string, columns int, t theme.Theme) string {
	s := NewStream(columns, t)
	return s.Add(source) + s.End()
}

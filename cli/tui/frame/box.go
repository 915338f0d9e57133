// Package frame draws what dialogs, pages and lists have in common: a box, a rule with a
// title, and a scrolling window on lines. It knows nothing of their content.
//
// The window is not the viewport of charm.land/bubbles/v2 (v2.2.1). That one measures every
// line whenever its content is set, pads the visible ones again for each frame, and keeps
// its place by line number, which a resized window changes. The help of bubbles leaves out
// the last keys if space is short. Pages and lists, which name the way out early, use it;
// boxes, which name it last, do not.
package frame

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

// Box is a frame around lines: a title and an aside in its upper border, hints in its
// lower border, and rules with labels between its sections.
type Box struct {
	Title, Aside string // plain text; may contain control characters
	Hints        []Hint // the last one always remains
	Foot         string // at the right end of the lower border
	Border       theme.Style
	Sections     []Section
}

// Section is a part of a box.
type Section struct {
	Lines []string // each at most as wide as [Inside]
	Label string   // in the rule above the section; the first section has none
}

// BoxRows is the number of rows of the borders of a box with one section; every other
// section adds a rule.
const BoxRows = 2

// Inside returns the width of the lines in a box.
func Inside(columns int) int { return max(columns-4, 1) }

// corners are the characters of a frame.
type corners struct {
	topLeft, topRight, bottomLeft, bottomRight, across, down, left, right string
}

func cornersOf(v blocks.Style) corners {
	if v.Theme.ASCII {
		return corners{"+", "+", "+", "+", "-", "|", "+", "+"}
	}
	return corners{"╭", "╮", "╰", "╯", "─", "│", "├", "┤"}
}

// Draw returns the lines of the box, as wide as the style.
func (b Box) Draw(v blocks.Style) []string {
	c := cornersOf(v)
	lines := []string{b.upper(v, c)}
	side := b.Border.Render(c.down)
	for i, s := range b.Sections {
		if i > 0 {
			lines = append(lines, b.rule(v, c.left, c.right, "", s.Label, v.Theme.Dim))
		}
		for _, line := range s.Lines {
			pad := strings.Repeat(" ", max(Inside(v.Columns)-display.Width(line), 0))
			lines = append(lines, display.Cut(side+" "+line+pad+" "+side, v.Columns, ""))
		}
	}
	return append(lines, b.rule(v, c.bottomLeft, c.bottomRight, JoinHints(b.Hints, v.Columns-6-display.Width(b.Foot)-3*min(len(b.Foot), 1)), b.Foot, v.Theme.Dim))
}

// upper returns the upper border. The title has precedence over the aside.
func (b Box) upper(v blocks.Style, c corners) string {
	title := display.Cut(display.Line(b.Title), max(v.Columns-6, 1), "…")
	room := v.Columns - 6 - display.Width(title) - 5 // at least one line character between the two
	aside := display.Cut(display.Line(b.Aside), max(room, 0), "…")
	return b.rule(v, c.topLeft, c.topRight, v.Theme.Strong.Render(title), aside, v.Theme.Dim)
}

// rule returns a line of the frame with a text at its left and one at its right end.
func (b Box) rule(v blocks.Style, left, right, text, label string, look theme.Style) string {
	c := cornersOf(v)
	line, used := left, 1
	begin, end := "", ""
	if text != "" {
		if !strings.Contains(text, "\x1b") {
			text = look.Render(text)
		}
		line, used = left+c.across, 2
		begin = " " + text + " "
	}
	if label != "" {
		end = " " + look.Render(label) + " "
		right = c.across + right
	}
	fill := v.Columns - used - display.Width(begin) - display.Width(end) - display.Width(right)
	return display.Cut(b.Border.Render(line)+begin+b.Border.Render(strings.Repeat(c.across, max(fill, 0)))+end+b.Border.Render(right), v.Columns, "")
}

// JoinHints joins as many hints as fit. The last one always remains, because it is the
// way out.
func JoinHints(hints []Hint, columns int) string {
	for len(hints) > 0 {
		texts := make([]string, len(hints))
		for i, h := range hints {
			texts[i] = h.String()
		}
		if text := strings.Join(texts, " · "); display.Width(text) <= columns || len(hints) == 1 {
			return display.Cut(text, max(columns, 0), "…")
		}
		hints = append(hints[:max(len(hints)-2, 0):max(len(hints)-2, 0)], hints[len(hints)-1])
	}
	return ""
}

// Titled returns a rule with a title.
func Titled(v blocks.Style, title string) string {
	title = display.Cut(display.Line(title), max(v.Columns-5, 1), "…")
	rule := strings.Repeat("─", max(v.Columns-4-display.Width(title), 0))
	return display.Cut(v.Theme.Border.Render("──")+" "+v.Theme.Strong.Render(title)+" "+v.Theme.Border.Render(rule), v.Columns, "")
}

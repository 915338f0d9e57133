package tui

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

// box is a frame around lines: a title and an aside in its upper border, hints in its
// lower border, and rules with labels between its sections.
type box struct {
	title, aside string // plain text; may contain control characters
	hints        []string
	foot         string // at the right end of the lower border
	border       theme.Style
	sections     []section
}

// section is a part of a box.
type section struct {
	lines []string // at most as wide as [inside]
	label string   // in the rule above the section; the first section has none
}

// boxRows is the number of rows of the borders of a box with one section; every other
// section adds a rule.
const boxRows = 2

// inside returns the width of the lines in a box.
func inside(columns int) int { return max(columns-4, 1) }

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

// draw returns the lines of the box, as wide as the style.
func (b box) draw(v blocks.Style) []string {
	c := cornersOf(v)
	lines := []string{b.upper(v, c)}
	side := b.border.Render(c.down)
	for i, s := range b.sections {
		if i > 0 {
			lines = append(lines, b.rule(v, c.left, c.right, "", s.label, v.Theme.Dim))
		}
		for _, line := range s.lines {
			pad := strings.Repeat(" ", max(inside(v.Columns)-display.Width(line), 0))
			lines = append(lines, display.Cut(side+" "+line+pad+" "+side, v.Columns, ""))
		}
	}
	return append(lines, b.rule(v, c.bottomLeft, c.bottomRight, joinHints(b.hints, v.Columns-6-display.Width(b.foot)-3*min(len(b.foot), 1)), b.foot, v.Theme.Dim))
}

// upper returns the upper border. The title has precedence over the aside.
func (b box) upper(v blocks.Style, c corners) string {
	title := display.Cut(display.Line(b.title), max(v.Columns-6, 1), "…")
	room := v.Columns - 6 - display.Width(title) - 5 // at least one line character between the two
	aside := display.Cut(display.Line(b.aside), max(room, 0), "…")
	return b.rule(v, c.topLeft, c.topRight, v.Theme.Strong.Render(title), aside, v.Theme.Dim)
}

// rule returns a line of the frame with a text at its left and one at its right end.
func (b box) rule(v blocks.Style, left, right, text, label string, look theme.Style) string {
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
	return display.Cut(b.border.Render(line)+begin+b.border.Render(strings.Repeat(c.across, max(fill, 0)))+end+b.border.Render(right), v.Columns, "")
}

// joinHints joins as many hints as fit. The last one always remains, because it is the
// way out.
func joinHints(hints []string, columns int) string {
	for len(hints) > 0 {
		if text := strings.Join(hints, " · "); display.Width(text) <= columns || len(hints) == 1 {
			return display.Cut(text, max(columns, 0), "…")
		}
		hints = append(hints[:max(len(hints)-2, 0):max(len(hints)-2, 0)], hints[len(hints)-1])
	}
	return ""
}

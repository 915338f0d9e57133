package markdown

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
)

const (
	cellBorder = 3 // columns between cells
	minCell    = 8 // columns of a wrapped cell
)

// table renders a table. If it is too wide, its cells are wrapped; if there are too
// many columns, each row becomes a list of its cells.
func (r *renderer) table(n *extast.Table, source []byte, columns int) []string {
	var rows [][][]span
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		style := r.theme.Text
		if row.Kind() == extast.KindTableHeader {
			style = r.theme.Strong.On(style)
		}
		rows = append(rows, r.cells(row, source, style))
	}
	if len(rows) == 0 || len(rows[0]) == 0 {
		return nil
	}
	widths, ok := cellWidths(rows, columns-cellBorder*(len(rows[0])-1))
	if !ok {
		return r.records(rows, columns)
	}
	var lines []string
	for i, row := range rows {
		lines = append(lines, r.row(row, widths, n.Alignments)...)
		if i == 0 {
			rules := make([]string, len(widths))
			for j, width := range widths {
				rules[j] = strings.Repeat(r.marks.rule, width)
			}
			lines = append(lines, r.theme.Border.Render(strings.Join(rules, r.marks.cross)))
		}
	}
	return lines
}

func (r *renderer) cells(row ast.Node, source []byte, style theme.Style) [][]span {
	var cells [][]span
	for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
		cells = append(cells, r.spans(cell, source, style))
	}
	return cells
}

// cellWidths returns the width of each column, if they fit: the width of their text,
// or narrower for the widest ones.
func cellWidths(rows [][][]span, room int) (widths []int, ok bool) {
	widths = make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row[:min(len(row), len(widths))] {
			widths[i] = max(widths[i], 1, widthOf(cell))
		}
	}
	left, share := room, room
	open := slices.Sorted(slices.Values(widths))
	for i, width := range open { // narrow columns keep their width; the others share the rest
		share = left / (len(open) - i)
		if width > share {
			break
		}
		left -= width
	}
	for i := range widths {
		if widths[i] > share {
			if share < minCell {
				return nil, false
			}
			widths[i] = share
		}
	}
	return widths, true
}

// widthOf returns the width of text on one line.
func widthOf(text []span) int {
	n := 0
	for _, s := range text {
		n += display.Width(strings.ReplaceAll(s.text, "\n", " "))
	}
	return n
}

func (r *renderer) row(cells [][]span, widths []int, alignments []extast.Alignment) []string {
	folded := make([][]string, len(widths))
	height := 1
	for i := range widths {
		if i < len(cells) {
			folded[i] = fold(cells[i], widths[i])
			height = max(height, len(folded[i]))
		}
	}
	border := r.theme.Border.Render(r.marks.cell)
	lines := make([]string, height)
	for y := range lines {
		var b strings.Builder
		for i, width := range widths {
			if i > 0 {
				b.WriteString(border)
			}
			text := ""
			if y < len(folded[i]) {
				text = folded[i][y]
			}
			b.WriteString(aligned(text, width, alignments[i]))
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// aligned pads a text to a width.
func aligned(text string, width int, alignment extast.Alignment) string {
	blanks := max(width-display.Width(text), 0)
	before := 0
	switch alignment {
	case extast.AlignRight:
		before = blanks
	case extast.AlignCenter:
		before = blanks / 2
	}
	return strings.Repeat(" ", before) + text + strings.Repeat(" ", blanks-before)
}

// records renders each row as a list of its cells, each with its column name.
func (r *renderer) records(rows [][][]span, columns int) []string {
	var lines []string
	names, rows := rows[0], rows[1:]
	if len(rows) == 0 {
		for _, name := range names {
			lines = append(lines, fold(name, columns)...)
		}
	}
	for i, row := range rows {
		if i > 0 {
			lines = append(lines, "")
		}
		for j, cell := range row[:min(len(row), len(names))] {
			text := append(slices.Clip(names[j]), span{": ", r.theme.Text})
			lines = append(lines, fold(append(text, cell...), columns)...)
		}
	}
	return lines
}

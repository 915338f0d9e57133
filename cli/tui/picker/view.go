package picker

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/frame"
)

// Sizes of a picker.
const (
	maxDetailRows = 12 // of the detail of the selected item
	maxStateWidth = 24
	narrow        = 60 // the width below which there is no column of descriptions
	frameRows     = 3  // title, filter and keys
)

// Height returns the number of rows that the list needs. It does not depend on the
// filter, so that the list stays in place.
func (p *Model) Height(v blocks.Style) int {
	return frameRows + max(len(p.rows), 1) + p.detailRows(v)
}

// detailRows returns the number of rows for the detail of the selected item, with the
// rule above it; 0 if no item has a detail.
func (p *Model) detailRows(v blocks.Style) int {
	if p.reservedFor == v.Columns {
		return p.reserved
	}
	rows := 0
	for i, item := range p.pick.Items {
		n := 0
		if item.Theme != "" {
			n = maxDetailRows
		}
		for line := range strings.Lines(strings.TrimSpace(item.Detail)) {
			n += 1 + len(line)/(v.Columns+1)
		}
		if n == 0 && p.cutDescription(v, i) {
			n = 1
		}
		rows = max(rows, n)
	}
	if rows > 0 {
		rows = min(rows, maxDetailRows) + 1
	}
	p.reserved, p.reservedFor = rows, v.Columns
	return rows
}

// columns returns the widths of the columns.
func (p *Model) columns(v blocks.Style) (name, state, description int) {
	state = min(p.states, maxStateWidth, v.Columns/3)
	taken := 2 // the mark
	if state > 0 {
		taken += 2 + state
	}
	name = min(p.names, v.Columns-taken)
	if v.Columns >= narrow {
		name = min(name, v.Columns/2)
		description = max(v.Columns-taken-name-2, 0)
	}
	return max(name, 0), state, description
}

// cutDescription reports whether the description of an item does not fit into its line.
func (p *Model) cutDescription(v blocks.Style, item int) bool {
	_, _, room := p.columns(v)
	return display.Width(p.rows[item].description) > room
}

// View returns at most rows lines, and the cursor in the filter.
func (p *Model) View(v blocks.Style, rows int) ([]string, *tea.Cursor) {
	details := p.detailRows(v)
	if room := rows - frameRows - min(len(p.rows), max(rows/3, 3)); details > room {
		details = max(room, 0)
		if details < 2 { // a rule and one line
			details = 0
		}
	}
	p.page = max(rows-frameRows-details, 1)
	p.offset = max(0, min(p.offset, p.at, len(p.shown)-p.page), p.at-p.page+1)

	filter, cursor := p.drawFilter(v)
	lines := []string{frame.Titled(v, p.pick.Title), filter}
	lines = append(lines, p.drawItems(v)...)
	if len(p.shown) == 0 {
		empty := p.pick.Empty
		if len(p.rows) > 0 {
			empty = "No entry matches the filter."
		}
		lines = append(lines, v.Theme.Dim.Render(display.Cut("  "+display.Line(empty), v.Columns, "…")))
	}
	for len(lines) < frameRows-1+min(p.page, max(len(p.rows), 1)) {
		lines = append(lines, "")
	}
	if details > 0 {
		lines = append(lines, p.drawDetail(v, details)...)
	}
	return append(lines, p.drawKeys(v)), cursor
}

// drawFilter returns the line of the filter with the number of matches, and the cursor.
func (p *Model) drawFilter(v blocks.Style) (string, *tea.Cursor) {
	const head = "filter: "
	count := display.Thousands(len(p.rows))
	if len(p.shown) != len(p.rows) {
		count = display.Thousands(len(p.shown)) + " of " + count
	}
	if v.Columns < len(head)+len(count)+10 { // the filter comes first
		count = ""
	}
	text, _, x := p.filter.View(max(v.Columns-len(head)-len(count)-2, 4), 1)
	gap := strings.Repeat(" ", max(v.Columns-len(head)-display.Width(text[0])-len(count), 1))
	return v.Theme.Dim.Render(head) + text[0] + gap + v.Theme.Dim.Render(count), tea.NewCursor(len(head)+x, 1)
}

// drawKeys returns the last line: the keys, or the notice of the last one.
func (p *Model) drawKeys(v blocks.Style) string {
	if p.notice != "" {
		return v.Theme.Warning.Render(display.Cut(p.notice, v.Columns, "…"))
	}
	hints := []frame.Hint{frame.Keys(keymap.List, "closes", keymap.Close)}
	if len(p.rows) > 0 {
		hints = slices.Insert(hints, 0, frame.Keys(keymap.List, "chooses", keymap.Accept))
		hints = append(hints, frame.Hint{Keys: "type", Effect: "to filter"})
	}
	if len(p.shown) > p.page {
		shown := fmt.Sprintf("%d–%d of %d", p.offset+1, min(p.offset+p.page, len(p.shown)), len(p.shown))
		hints = append(hints, frame.Hint{Effect: shown}, frame.Keys(keymap.List, "", keymap.Up, keymap.Down, keymap.PageUp, keymap.PageDown))
	}
	return frame.Footer(v, hints...)
}

// drawItems returns the visible items: a mark, the name, the state, the description.
func (p *Model) drawItems(v blocks.Style) (lines []string) {
	name, state, description := p.columns(v)
	for i := p.offset; i < min(p.offset+p.page, len(p.shown)); i++ {
		row := p.rows[p.shown[i].item]
		line := "  "
		if i == p.at {
			line = v.Theme.Accent.Render(">") + " "
		}
		line += p.drawName(v, p.shown[i], name, i == p.at)
		if state > 0 {
			line += "  " + v.Theme.Accent.Render(display.Cut(row.state, state, "…")) + strings.Repeat(" ", max(state-display.Width(row.state), 0))
		}
		if description > 0 {
			line += "  " + v.Theme.Dim.Render(display.Cut(row.description, description, "…"))
		}
		lines = append(lines, line)
	}
	return lines
}

// drawName returns the name of an item, padded to a width, with the matched characters
// marked.
func (p *Model) drawName(v blocks.Style, f found, width int, selected bool) string {
	full := p.rows[f.item].name
	name := display.Cut(full, width, "…")
	pad := strings.Repeat(" ", max(width-display.Width(name), 0))
	if selected {
		return v.Theme.Selected.Render(name) + pad
	}
	var b strings.Builder
	for i, r := range name {
		if slices.Contains(f.marks, i) && full[i] == name[i] {
			b.WriteString(v.Theme.Strong.Render(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String() + pad
}

// drawDetail returns a rule and the first lines of the selected item's detail.
func (p *Model) drawDetail(v blocks.Style, rows int) []string {
	lines := []string{v.Theme.Border.Render(strings.Repeat("─", v.Columns))}
	if i := p.selected(); i >= 0 {
		if p.detailOf != i || p.detailLook != v {
			p.detailOf, p.detailLook, p.detail = i, v, p.renderDetail(v, i)
		}
		detail := p.detail
		if len(detail) > rows-1 {
			detail = append(detail[:rows-2:rows-2], display.Cut(detail[rows-2], v.Columns-1, "")+v.Theme.Dim.Render("…"))
		}
		lines = append(lines, detail...)
	}
	for len(lines) < rows {
		lines = append(lines, "")
	}
	return lines
}

// themeSample is displayed in the theme of the selected item.
const themeSample = "**Strong** text, `code` and a [link](https://example.org).\n\n" +
	"```go\n// area multiplies.\nfunc area(a, b float64) float64 {\n\treturn a * b * 1.0\n```\n\n" +
	"```diff\n-const name = \"old\"\n+const name = \"new\"\n```\n"

func (p *Model) renderDetail(v blocks.Style, item int) []string {
	if p.pick.Items[item].Theme != "" {
		return v.Markdown(themeSample, v.Columns)
	}
	if text := p.pick.Items[item].Detail; text != "" {
		lines := blocks.Folded(strings.TrimSpace(text), v.Columns)
		for i := range lines {
			lines[i] = v.Theme.Dim.Render(lines[i])
		}
		return lines
	}
	if !p.cutDescription(v, item) {
		return nil
	}
	return []string{v.Theme.Dim.Render(display.Cut(p.rows[item].description, v.Columns, "…"))}
}

package pager

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/frame"
)

// NewOutput returns a page of lines of output with their numbers. The lines are safe for
// the terminal.
func NewOutput(title string, output []string) *Model {
	return &Model{title: title, output: output}
}

// OpenFile returns a page of the lines of a regular file with their numbers. It fails if the
// file cannot be read or is empty. The file need not be safe for the terminal.
func OpenFile(title, path string) (*Model, error) {
	file, err := openSaved(path)
	if err != nil {
		return nil, err
	}
	return &Model{title: title, file: file}, nil
}

// numbered returns the output with line numbers, wrapped.
func (p *Model) numbered(v blocks.Style) []string {
	width := len(fmt.Sprint(len(p.output)))
	columns := max(v.Columns-width-2, 1)
	var lines []string
	for i, line := range p.output {
		for j, piece := range display.Break(line, columns) {
			number := strings.Repeat(" ", width)
			if j == 0 {
				number = fmt.Sprintf("%*d", width, i+1)
			}
			lines = append(lines, v.Theme.Dim.Render(number)+"  "+piece)
		}
	}
	return lines
}

// searchKey handles a key while the text to find is typed.
func (p *Model) searchKey(k tea.KeyPressMsg) {
	switch keymap.Find(keymap.PageSearch, k.Keystroke()) {
	case keymap.Accept:
		p.searching = false
		p.find(1)
	case keymap.Close:
		p.searching = false
		p.query.Reset()
	default:
		if keymap.Find(keymap.Edit, k.Keystroke()) != keymap.NewLine { // it has one line
			p.query.Key(k, queryColumns)
		}
	}
}

// queryColumns is the width of the text to find for keys that move by rows; it has one row.
const queryColumns = 1 << 20

// find moves to the next line that contains the query, in a direction, and around the
// end.
func (p *Model) find(direction int) {
	p.missing = false
	query := strings.ToLower(p.query.Text())
	if query == "" {
		return
	}
	if p.file != nil {
		p.file.find(query, direction)
		return
	}
	n := max(len(p.lines), 1)
	from := p.found
	if from < p.scroller.Offset || from >= p.scroller.Offset+max(p.scroller.Rows, 1) {
		from = p.scroller.Offset - direction
	}
	for i := 1; i <= min(n, len(p.lines)); i++ {
		at := ((from+direction*i)%n + n) % n
		if strings.Contains(strings.ToLower(ansi.Strip(p.lines[at])), query) {
			p.found = at
			if at < p.scroller.Offset || at >= p.scroller.Offset+p.scroller.Rows {
				p.scroller.Offset = at
				p.scroller.Scroll(0)
			}
			return
		}
	}
	p.missing = true
}

// hints lists the keys, or reports a search without a match. where is the visible part.
func (p *Model) hints(where string) []frame.Hint {
	if p.missing {
		return []frame.Hint{{Effect: "not found: " + p.query.Text()}}
	}
	hints := []frame.Hint{frame.Keys(keymap.Page, "closes", keymap.Close)}
	if where != "" {
		hints = append(hints, frame.Hint{Effect: where})
	}
	switch {
	case p.query.Text() != "":
		hints = append(hints, frame.Keys(keymap.Page, "next and previous match", keymap.FindNext, keymap.FindPrevious))
	case p.output != nil || p.file != nil:
		hints = append(hints, frame.Keys(keymap.Page, "searches", keymap.FindText), frame.Keys(keymap.Page, "lists other outputs", keymap.OpenOutput))
	}
	if where != "" {
		hints = append(hints, frame.Keys(keymap.Page, "", keymap.ScrollUp, keymap.ScrollDown, keymap.PageUp, keymap.PageDown, keymap.ToStart, keymap.ToEnd))
	}
	return hints
}

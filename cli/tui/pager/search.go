package pager

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
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

// searchKey handles a key of the search, and reports whether it was one: "/" begins,
// n and N move to the next and previous match, g and G to the start and end.
func (p *Model) searchKey(k tea.KeyPressMsg) bool {
	stroke := k.Keystroke()
	if p.searching {
		switch {
		case stroke == "enter":
			p.searching = false
			p.find(1)
		case stroke == "esc" || stroke == "ctrl+c":
			p.searching, p.query = false, ""
		case stroke == "backspace":
			_, size := lastRune(p.query)
			p.query = p.query[:len(p.query)-size]
		default:
			p.query += k.Text
		}
		return true
	}
	switch keymap.Find(keymap.Page, k.Text) {
	case keymap.FindText:
		p.searching, p.query = true, ""
	case keymap.FindNext:
		p.find(1)
	case keymap.FindPrevious:
		p.find(-1)
	case keymap.ToStart:
		p.move("home")
	case keymap.ToEnd:
		p.move("end")
	default:
		return false
	}
	return true
}

// lastRune returns the last character of a text and its size.
func lastRune(text string) (last rune, size int) {
	for i, r := range text {
		last, size = r, len(text)-i
	}
	return last, size
}

// find moves to the next line that contains the query, in a direction, and around the
// end.
func (p *Model) find(direction int) {
	p.missing = false
	if p.query == "" {
		return
	}
	query := strings.ToLower(p.query)
	if p.file != nil {
		p.missing = !p.file.find(query, direction)
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

// foot describes the keys, or the search.
func (p *Model) foot() string {
	switch {
	case p.searching:
		return "/" + display.Line(p.query)
	case p.missing:
		return "not found: " + display.Line(p.query)
	case p.query != "":
		return "esc closes · n N next and previous match"
	case p.output != nil || p.file != nil:
		return "esc closes · / searches · g G start and end"
	}
	return "esc closes"
}

package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

// newOutputPager shows lines of output with their numbers. The lines are safe for the
// terminal.
func newOutputPager(title string, output []string) *pager {
	return &pager{title: title, output: output}
}

// numbered returns the output with line numbers, wrapped.
func (p *pager) numbered(v blocks.Style) []string {
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
func (p *pager) searchKey(k tea.KeyPressMsg) bool {
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
func (p *pager) find(direction int) {
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
	if from < p.offset || from >= p.offset+max(p.rows, 1) {
		from = p.offset - direction
	}
	for i := 1; i <= min(n, len(p.lines)); i++ {
		at := ((from+direction*i)%n + n) % n
		if strings.Contains(strings.ToLower(ansi.Strip(p.lines[at])), query) {
			p.found = at
			if at < p.offset || at >= p.offset+p.rows {
				p.offset = at
				p.scroll(0)
			}
			return
		}
	}
	p.missing = true
}

// foot describes the keys, or the search.
func (p *pager) foot() string {
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

// openOutput opens the output of the last call of the conversation that has some.
func (m *screen) openOutput() {
	for i := len(m.transcript.Blocks) - 1; i >= 0; i-- {
		c, is := m.transcript.Blocks[i].Block.(*blocks.Call)
		if !is {
			continue
		}
		title := c.State.Name + " " + c.State.Description
		if file, err := openSaved(c.Saved()); err == nil {
			m.pager = &pager{title: title, file: file}
			return
		}
		if output := c.Whole(); len(output) > 0 {
			m.pager = newOutputPager(title, output)
			return
		}
	}
	m.notice = "no call has output yet"
}

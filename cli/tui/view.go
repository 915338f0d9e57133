package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/text/unicode/norm"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

// layout holds the number of rows of each part of the screen. From the top:
// conversation, activity, queued inputs, input between rules (replaced by a dialog, a
// pager or a list to choose from), candidates, status line.
type layout struct {
	transcript, working, queued, input, candidates int
}

// maxQueuedShown is the maximum number of queued inputs shown.
const maxQueuedShown = 3

func (m *screen) inputColumns() int { return max(m.width-2, 2) }

// layout distributes the rows. The input comes first; the conversation gets the
// remaining rows.
func (m *screen) layout() layout {
	var l layout
	if m.turn != nil {
		l.working = 1
	}
	l.queued = min(len(m.queued), maxQueuedShown)
	left := m.height - 1 // the status line
	if m.question() == nil && m.pager == nil && m.picker == nil {
		most := max(min(m.height/3, 10), 1)
		l.input = min(m.input.Height(m.inputColumns()), most) + m.rules()
		if m.completion.open() {
			l.candidates = min(len(m.completion.found.Items), candidateRows(m.height), max(left-l.input-l.working, 0))
		}
	} else { // all rows, except a few for the conversation
		keep := 0
		switch {
		case m.height >= 20 && m.height < 30 && m.question() != nil: // the body of a box needs the rows
			keep = 2
		case m.height >= 20:
			keep = 4
		}
		l.working, l.queued = 0, 0
		l.input = left - keep
		if m.question() == nil && m.pager == nil {
			l.input = min(l.input, m.picker.Height(m.style()))
		}
	}
	for left-l.input-l.candidates-l.working-l.queued < 1 && l.queued > 0 {
		l.queued--
	}
	l.transcript = max(left-l.input-l.candidates-l.working-l.queued, 0)
	return l
}

// rules returns the number of horizontal rules around the input.
func (m *screen) rules() int {
	if m.height >= 14 {
		return 2
	}
	return 1
}

// View draws the whole screen.
func (m *screen) View() tea.View {
	missed := m.colour()
	lines, cursor := m.draw()
	m.colourRest(missed)
	for i, line := range lines {
		lines[i] = m.shown(display.Cut(line, m.width, ""))
	}
	// The renderer drops a combining mark after an ASCII letter, so use the composed
	// character where one exists.
	view := tea.NewView(norm.NFC.String(strings.Join(lines, "\n")))
	view.AltScreen = true
	view.MouseMode = tea.MouseModeCellMotion
	view.ReportFocus = m.o.Notify != NotifyOff
	view.WindowTitle = display.Line(m.status.Product + " " + m.status.Dir)
	if cursor != nil {
		cursor.Blink = !m.o.NoAnimation
	}
	view.Cursor = cursor
	return view
}

// draw returns exactly as many lines as the screen has rows, and the cursor.
func (m *screen) draw() ([]string, *tea.Cursor) {
	for _, b := range m.transcript.Blocks {
		if c, is := b.Block.(*blocks.Call); is && !c.State.Status.Final() {
			c.Animate(m.spinning(), m.h.now(), m.o.NoAnimation)
		}
	}
	v := m.style()
	l := m.layout()
	var part []string // below the conversation
	var cursor *tea.Cursor
	switch q := m.question(); {
	case q != nil:
		part, cursor = q.dialog.View(v, l.input, q.armed)
	case m.pager != nil:
		part, cursor = m.pager.View(v, l.input)
	case m.picker != nil:
		part, cursor = m.picker.View(v, l.input)
	default:
		part, cursor = m.drawInput(v, l)
	}
	part = part[:min(len(part), m.height-1)]
	rows := max(m.height-1-len(part), 0)
	lines, more := m.transcript.Window(rows, v)
	if m.onlyNotes() { // also below the notices of the start
		if len(lines) > 0 {
			lines = append(lines[:len(lines):len(lines)], "")
		}
		lines = append(lines, m.greeting(v, max(rows-len(lines), 0))...)
		lines = lines[:min(len(lines), rows)]
	}
	if more && len(lines) > 0 {
		lines = append(lines[:len(lines)-1:len(lines)-1], v.Theme.Dim.Render(display.Cut("↓ more below ("+keymap.Short(keymap.Everywhere, keymap.PageDown, keymap.ToEnd)+")", v.Columns, "…")))
	}
	for len(lines) < rows {
		lines = append(lines, "")
	}
	if cursor != nil {
		cursor.Y += rows
	}
	lines = append(lines, part...)
	return append(lines, m.statusLine(v)), cursor
}

// drawInput returns the lines below the conversation while no dialog is open.
func (m *screen) drawInput(v blocks.Style, l layout) (lines []string, cursor *tea.Cursor) {
	if l.working > 0 {
		lines = append(lines, m.workingLine())
	}
	for i, text := range m.queued[:l.queued] {
		line := "queued: " + display.Line(firstBytes(text, 4*v.Columns))
		if i == l.queued-1 && len(m.queued) > l.queued {
			line = "queued: " + display.Thousands(len(m.queued)-i) + " more"
		}
		lines = append(lines, v.Theme.Dim.Render(display.Cut("  "+line, v.Columns, "…")))
	}
	rule := v.Theme.Border.Render(strings.Repeat("─", v.Columns))
	lines = append(lines, rule)
	if m.search != nil {
		line, x := m.search.view(v)
		cursor = tea.NewCursor(x, len(lines))
		lines = append(lines, line)
	} else {
		text, y, x := m.input.View(m.inputColumns(), l.input-m.rules())
		cursor = tea.NewCursor(2+x, len(lines)+y)
		for i, line := range text {
			mark := "  "
			if i == 0 {
				mark = v.Theme.Accent.Render(">") + " "
			}
			lines = append(lines, mark+line)
		}
		if m.input.Text() == "" {
			lines[len(lines)-1] += v.Theme.Dim.Render(display.Cut(m.hint(), v.Columns-2, "…"))
		}
	}
	if m.rules() > 1 {
		lines = append(lines, rule)
	}
	if m.completion.open() {
		lines = append(lines, m.completion.view(v, l.candidates)...)
	}
	return lines, cursor
}

// hint returns the placeholder of an empty input.
func (m *screen) hint() string {
	switch {
	case m.notice != "":
		return m.notice
	case m.turn != nil && m.turn.text != "":
		return "type the next prompt; it is sent when this turn ends"
	}
	return "type a prompt, or /help"
}

// firstBytes returns the first n bytes of a text; only these are displayed.
func firstBytes(text string, n int) string {
	if len(text) > n {
		return text[:n]
	}
	return text
}

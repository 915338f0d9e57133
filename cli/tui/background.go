package tui

import (
	"bytes"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/theme"
)

// answerFor is the time that the terminal has to report its background. A later
// report still selects the theme.
const answerFor = 300 * time.Millisecond

// backgroundLate ends the wait for the report.
type backgroundLate struct{}

// setTheme changes the theme of everything on the screen.
func (m *screen) setTheme(t theme.Theme) {
	m.o.Theme = t
	m.look = &t // blocks compare the address
}

// useTheme changes the theme by name.
func (m *screen) useTheme(name string) {
	if m.o.Themes != nil {
		m.themeName = name
		m.setTheme(m.o.Themes(name, m.light))
	}
}

// askBackground asks the terminal for its background if the theme depends on it.
func (m *screen) askBackground() tea.Cmd {
	if m.o.Background == nil {
		return nil
	}
	m.asking = true
	m.h.after(answerFor, backgroundLate{})
	return tea.RequestBackgroundColor
}

// background selects the theme for the reported background.
func (m *screen) background(msg tea.BackgroundColorMsg) {
	m.asking = false
	if m.o.Background == nil || msg.Color == nil {
		return
	}
	m.light = !msg.IsDark()
	if m.themeName == "" {
		m.setTheme(m.o.Background(m.light))
	} else {
		m.useTheme(m.themeName)
	}
}

// report is the beginning of the terminal's report of its background.
const report = "\x1b]11;"

// maxReport is the maximum length of a report, in bytes.
const maxReport = 64

// reportFilter keeps the report together in the input: the reader would take the rest
// of a report that arrives in two pieces for keys. The zero value passes everything.
type reportFilter struct {
	until time.Time // the filter ends; zero: it is off
	held  []byte    // the beginning of a report
	drops bool      // the escape character of held was passed on
	esc   bool      // the last input ended with an escape character
}

// filter returns the input to pass on, given the next piece of it.
func (f *reportFilter) filter(piece []byte, now time.Time) []byte {
	if f.until.IsZero() {
		return piece
	}
	data := append(f.held, piece...)
	f.held = nil
	if now.After(f.until) {
		f.until = time.Time{}
		return data
	}
	if rest := []byte(report[1:]); f.esc && !f.drops {
		if len(data) < len(rest) && bytes.HasPrefix(rest, data) {
			f.held = data
			return nil
		}
		f.drops = bytes.HasPrefix(data, rest)
	}
	f.esc = bytes.HasSuffix(data, []byte{'\x1b'})
	if f.drops {
		end := reportEnd(data)
		if end < 0 && len(data) <= maxReport {
			f.held = data
			return nil
		}
		f.until = time.Time{}
		return data[max(end, 0):]
	}
	begin := bytes.Index(data, []byte(report[:2]))
	if begin < 0 || !bytes.HasPrefix(data[begin:], []byte(report)) && !bytes.HasPrefix([]byte(report), data[begin:]) {
		return data
	}
	if reportEnd(data[begin:]) > 0 || len(data)-begin > maxReport {
		f.until = time.Time{} // complete
		return data
	}
	f.held = bytes.Clone(data[begin:])
	return data[:begin]
}

// reportEnd returns the end of the report that data starts with, -1 if it is
// incomplete.
func reportEnd(data []byte) int {
	if i := bytes.IndexByte(data, '\a'); i >= 0 {
		return i + 1
	}
	if i := bytes.Index(data, []byte("\x1b\\")); i >= 0 {
		return i + 2
	}
	return -1
}

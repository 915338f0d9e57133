package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/textfield"
)

// search is a search in the input history.
type search struct {
	words   textfield.Model
	history *history
	at      int // index of the match; -1: none
}

func newSearch(h *history) *search { return &search{history: h, at: -1} }

// step moves to the next match, an older one if n < 0. Equal entries are one match.
func (s *search) step(n int) {
	from := len(s.history.entries)
	if s.at >= 0 {
		from = s.at
	}
	for i := s.history.find(s.words.Text(), from, n); i >= 0; i = s.history.find(s.words.Text(), i, n) {
		if s.at < 0 || s.history.entries[i] != s.found() {
			s.at = i
			return
		}
	}
}

func (s *search) again() {
	s.at = -1
	if s.words.Text() != "" {
		s.step(-1)
	}
}

// found returns the match.
func (s *search) found() string {
	if s.at < 0 {
		return ""
	}
	return s.history.entries[s.at]
}

// searchKey handles a key during a history search.
func (m *screen) searchKey(k tea.KeyPressMsg, stroke string) {
	s := m.search
	switch keymap.Find(keymap.Search, stroke) {
	case keymap.Close:
		m.search = nil
	case keymap.Older:
		s.step(-1)
	case keymap.Newer:
		s.step(1)
	case keymap.Accept:
		if s.at >= 0 {
			m.input.Show(s.found()) // undo restores the input
			m.completion.dismiss()
		}
		m.search = nil
	default:
		if before := s.words.Text(); s.words.Key(k, m.width) && s.words.Text() != before {
			s.again()
		}
	}
}

// view returns the search line, which replaces the input, and the cursor column.
func (s *search) view(v blocks.Style) (line string, x int) {
	head := "search: " + display.Line(s.words.Text())
	x = display.Width(head)
	line = head + v.Theme.Dim.Render("  "+display.Line(s.found()))
	return display.Cut(line, v.Columns, "…"), min(x, v.Columns-1)
}

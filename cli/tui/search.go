package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

// search is a search in the input history.
type search struct {
	words   editor
	history *history
	at      int // index of the match; -1: none
}

func newSearch(h *history) *search { return &search{history: h, at: -1} }

func (s *search) older() {
	before := len(s.history.entries)
	if s.at >= 0 {
		before = s.at
	}
	if i := s.history.find(s.words.text, before); i >= 0 {
		s.at = i
	}
}

func (s *search) again() {
	s.at = -1
	if s.words.text != "" {
		s.older()
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
	switch stroke {
	case "esc", "ctrl+c", "ctrl+g":
		m.search = nil
	case "ctrl+r", "up":
		s.older()
	case "enter", "tab", "right", "kpenter":
		if s.at >= 0 {
			m.input.recall(s.found())
		}
		m.search = nil
	default:
		if before := s.words.text; editKey(&s.words, k, m.width) && s.words.text != before {
			s.again()
		}
	}
}

// view returns the search line, which replaces the input, and the cursor column.
func (s *search) view(v blocks.Style) (line string, x int) {
	head := "search: " + display.Line(s.words.text)
	x = display.Width(head)
	line = head + v.Theme.Dim.Render("  "+display.Line(s.found()))
	return display.Cut(line, v.Columns, "…"), min(x, v.Columns-1)
}

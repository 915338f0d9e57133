package frame

import (
	"fmt"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/fettle-dev/fettle/cli/keymap"
)

// Scroller is a scrollable window on lines. The zero value is at their start.
type Scroller struct {
	Offset int // index of the first visible line
	Total  int // number of lines, as last displayed
	Rows   int // of the window, as last displayed
}

// Redrawn keeps the position when the lines are rendered again, for example at
// another width: the end if it was visible, otherwise the line at the top. The
// Position is counted in letters and digits, because wrapping, indentation and
// markers do not change them.
func (s *Scroller) Redrawn(before, after []string) {
	if s.Offset == 0 {
		return
	}
	atEnd := s.Offset+s.Rows >= s.Total
	passed := 0
	for _, line := range before[:min(s.Offset, len(before))] {
		passed += letters(line)
	}
	s.Total = len(after)
	s.Offset = 0
	for _, line := range after {
		if passed -= letters(line); passed < 0 && !atEnd {
			break
		}
		s.Offset++ // moves the window up from below the end
	}
}

// letters counts the visible letters and digits of a line.
func letters(line string) (n int) {
	for _, r := range ansi.Strip(line) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// Window returns the visible lines.
func (s *Scroller) Window(lines []string, rows int) []string {
	s.Total, s.Rows = len(lines), max(rows, 0)
	s.Scroll(0)
	return lines[s.Offset:min(s.Offset+s.Rows, len(lines))]
}

// Scroll moves the window by n rows, down if n > 0.
func (s *Scroller) Scroll(n int) {
	s.Offset = max(0, min(s.Offset+n, s.Total-s.Rows))
}

// Do performs an action that scrolls, and reports whether it was one.
func (s *Scroller) Do(action keymap.Action) bool {
	switch action {
	case keymap.ScrollUp:
		s.Scroll(-1)
	case keymap.ScrollDown:
		s.Scroll(1)
	case keymap.PageUp:
		s.Scroll(-max(s.Rows-1, 1))
	case keymap.PageDown:
		s.Scroll(max(s.Rows-1, 1))
	case keymap.HalfUp:
		s.Scroll(-max(s.Rows/2, 1))
	case keymap.HalfDown:
		s.Scroll(max(s.Rows/2, 1))
	case keymap.ToStart:
		s.Scroll(-s.Total)
	case keymap.ToEnd:
		s.Scroll(s.Total)
	default:
		return false
	}
	return true
}

// Position describes the visible range; it returns "" if everything is visible.
func (s *Scroller) Position() string {
	if s.Total <= s.Rows {
		return ""
	}
	return fmt.Sprintf("%d–%d of %d", s.Offset+1, min(s.Offset+s.Rows, s.Total), s.Total)
}
